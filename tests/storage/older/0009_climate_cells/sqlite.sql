BEGIN TRANSACTION;
CREATE TABLE api_keys (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	digest BLOB NOT NULL, 
	per_minute INTEGER NOT NULL, 
	per_day INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, 
	expires_at DATETIME, 
	revoked_at DATETIME, 
	replaced_by VARCHAR(32), 
	PRIMARY KEY (id), 
	UNIQUE (digest)
);
INSERT INTO "api_keys" VALUES('hotel','hotel',X'686F74656C2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E',600,50000,'2026-11-21 12:00:00.000000',NULL,NULL,NULL);
INSERT INTO "api_keys" VALUES('revoked','revoked',X'7265766F6B65642E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E2E',600,50000,'2026-11-21 12:00:00.000000',NULL,'2026-11-23 12:00:00.000000',NULL);
CREATE TABLE climate_cells (
	source VARCHAR(40) NOT NULL, 
	cell VARCHAR(80) NOT NULL, 
	asked_on DATE NOT NULL, 
	PRIMARY KEY (source, cell)
)
 WITHOUT ROWID

;
INSERT INTO "climate_cells" VALUES('open_meteo_archive','48.85,2.35','2026-11-24');
CREATE TABLE climate_extent (
	id INTEGER NOT NULL, 
	rows BIGINT NOT NULL, 
	newest DATETIME, 
	PRIMARY KEY (id)
);
INSERT INTO "climate_extent" VALUES(1,2,'2026-11-24 12:00:00.000000');
CREATE TABLE "climate_months" (
	source VARCHAR(40) NOT NULL, 
	cell VARCHAR(80) NOT NULL, 
	month INTEGER NOT NULL, 
	year INTEGER NOT NULL, 
	lat DOUBLE NOT NULL, 
	lng DOUBLE NOT NULL, 
	elevation DOUBLE, 
	fetched_at DATETIME NOT NULL, 
	data BLOB NOT NULL, 
	PRIMARY KEY (source, cell, month, year)
);
INSERT INTO "climate_months" VALUES('open_meteo_archive','48.85,2.35',12,2020,48.85,2.35,35.0,'2026-11-23 12:00:00.000000',X'7878787878787878787878787878787878787878');
INSERT INTO "climate_months" VALUES('open_meteo_archive','48.85,2.35',12,2021,48.85,2.35,35.0,'2026-11-24 12:00:00.000000',X'7878787878787878787878787878787878787878');
CREATE TABLE event_calendars (
	id VARCHAR(64) NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	checked_at DATETIME, 
	record TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "event_calendars" VALUES('cal','import',NULL,'{"id":"cal","kind":"import","source":"file","name":null,"lat":null,"lng":null,"country":null,"region":null,"timezone":null,"category":null,"rows":10,"imported_at":null,"checked_at":null,"failed_with":null,"etag":null,"last_modified":null,"came_empty":false,"digest":null,"tags":null}');
INSERT INTO "event_calendars" VALUES('feed','feed',NULL,'{"id":"feed","kind":"feed","source":"https://a.example/x.ics","name":null,"lat":null,"lng":null,"country":null,"region":null,"timezone":null,"category":null,"rows":0,"imported_at":null,"checked_at":null,"failed_with":null,"etag":null,"last_modified":null,"came_empty":false,"digest":null,"tags":null}');
CREATE TABLE events (
	cell INTEGER NOT NULL, 
	slot INTEGER NOT NULL, 
	calendar VARCHAR(64) NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	record TEXT NOT NULL, 
	PRIMARY KEY (cell, slot, calendar, id), 
	FOREIGN KEY(calendar) REFERENCES event_calendars (id) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "events" VALUES(-18002,16869712,'cal','cal:fr','{"id":"cal:fr","source":"calendars","title":"Event fr ''?:%","category":"concert","start":{"day":"2026-12-24"},"end":{"day":"2026-12-25"},"all_day":true,"scope":"country","country":"FR"}');
INSERT INTO "events" VALUES(5550480,739951,'cal','cal:0','{"id":"cal:0","source":"calendars","title":"Event 0 ''?:%","category":"concert","start":{"day":"2026-12-01"},"all_day":true,"place":{"lat":48.8566,"lng":2.3522}}');
INSERT INTO "events" VALUES(5550480,739952,'cal','cal:1','{"id":"cal:1","source":"calendars","title":"Event 1 ''?:%","category":"concert","start":{"day":"2026-12-02"},"end":{"day":"2026-12-02"},"all_day":true,"place":{"lat":48.8566,"lng":2.3522}}');
INSERT INTO "events" VALUES(5550480,16869710,'cal','cal:2','{"id":"cal:2","source":"calendars","title":"Event 2 ''?:%","category":"concert","start":{"day":"2026-12-03"},"end":{"day":"2026-12-04"},"all_day":true,"place":{"lat":48.8566,"lng":2.3522}}');
INSERT INTO "events" VALUES(5550480,16869710,'cal','cal:3','{"id":"cal:3","source":"calendars","title":"Event 3 ''?:%","category":"concert","start":{"day":"2026-12-04"},"end":{"day":"2026-12-11"},"all_day":true,"place":{"lat":48.8566,"lng":2.3522}}');
INSERT INTO "events" VALUES(5550480,33565993,'cal','cal:4','{"id":"cal:4","source":"calendars","title":"Event 4 ''?:%","category":"concert","start":{"day":"2026-12-05"},"end":{"day":"2026-12-13"},"all_day":true,"place":{"lat":48.8566,"lng":2.3522}}');
INSERT INTO "events" VALUES(5550480,33565993,'cal','cal:5','{"id":"cal:5","source":"calendars","title":"Event 5 ''?:%","category":"concert","start":{"day":"2026-12-06"},"end":{"day":"2027-02-07"},"all_day":true,"place":{"lat":48.8566,"lng":2.3522}}');
INSERT INTO "events" VALUES(5550480,50333093,'cal','cal:6','{"id":"cal:6","source":"calendars","title":"Event 6 ''?:%","category":"concert","start":{"day":"2026-12-07"},"end":{"day":"2028-01-10"},"all_day":true,"place":{"lat":48.8566,"lng":2.3522}}');
INSERT INTO "events" VALUES(5550480,67109044,'cal','cal:7','{"id":"cal:7","source":"calendars","title":"Event 7 ''?:%","category":"concert","start":{"day":"2026-12-08"},"end":{"day":"2028-07-29"},"all_day":true,"place":{"lat":48.8566,"lng":2.3522}}');
INSERT INTO "events" VALUES(5550480,67109044,'cal','cal:old','{"id":"cal:old","source":"calendars","title":"Event old ''?:%","category":"concert","start":{"day":"1990-05-01"},"end":{"day":"2045-01-31"},"all_day":true,"place":{"lat":48.8566,"lng":2.3522}}');
CREATE TABLE facts (
	name VARCHAR(64) NOT NULL, 
	value VARCHAR(200) NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "facts" VALUES('schema_usable_from','0008_climate_rows');
INSERT INTO "facts" VALUES('keys_version','eb46a51e68fd449ab1b315fb49895c3e');
CREATE TABLE forecast_records (
	provider VARCHAR(40) NOT NULL, 
	cell VARCHAR(80) NOT NULL, 
	issued_on DATE NOT NULL, 
	elevation DOUBLE, 
	data BLOB NOT NULL, 
	PRIMARY KEY (provider, cell, issued_on)
)
 WITHOUT ROWID

;
INSERT INTO "forecast_records" VALUES('p','c','2026-11-23',NULL,X'66');
CREATE TABLE guide_restaurants (
	version INTEGER NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	record TEXT NOT NULL, 
	PRIMARY KEY (version, id), 
	FOREIGN KEY(version) REFERENCES guide_versions (number) ON DELETE CASCADE
);
INSERT INTO "guide_restaurants" VALUES(1,'r00001','{"id":"r00001","name":"Table 1","tier":"one_star","lat":48.85,"lng":2.35}');
INSERT INTO "guide_restaurants" VALUES(2,'r00001','{"id":"r00001","name":"Table 1","tier":"one_star","lat":48.85,"lng":2.35}');
INSERT INTO "guide_restaurants" VALUES(2,'r00002','{"id":"r00002","name":"Table 2","tier":"one_star","lat":48.85,"lng":2.35}');
CREATE TABLE guide_versions (
	number INTEGER NOT NULL, 
	provenance TEXT NOT NULL, 
	rows INTEGER NOT NULL, 
	imported_at DATETIME NOT NULL, 
	replaces INTEGER, 
	active BOOLEAN NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "guide_versions" VALUES(1,'{"kind":"plain_csv","source":"made-up.csv","dated":"2025-03-01","attribution":"Made up"}',1,'2026-11-23 12:00:00.000000',NULL,0);
INSERT INTO "guide_versions" VALUES(2,'{"kind":"plain_csv","source":"made-up.csv","dated":"2025-03-01","attribution":"Made up"}',2,'2026-11-23 12:00:00.000000',1,1);
CREATE TABLE observed_days (
	source VARCHAR(40) NOT NULL, 
	cell VARCHAR(80) NOT NULL, 
	asked_at DATETIME NOT NULL, 
	first DATE NOT NULL, 
	elevation DOUBLE, 
	data BLOB NOT NULL, 
	PRIMARY KEY (source, cell)
)
 WITHOUT ROWID

;
INSERT INTO "observed_days" VALUES('s','c','2026-11-23 12:00:00.000000','2026-11-01',2.5,X'6F');
CREATE TABLE point_heights (
	lat INTEGER NOT NULL, 
	lng INTEGER NOT NULL, 
	metres DOUBLE NOT NULL, 
	PRIMARY KEY (lat, lng)
);
INSERT INTO "point_heights" VALUES(488566,23522,35.0);
CREATE TABLE provider_answers (
	provider VARCHAR(40) NOT NULL, 
	"key" VARCHAR(200) NOT NULL, 
	expires_at DATETIME NOT NULL, 
	data BLOB NOT NULL, 
	PRIMARY KEY (provider, "key")
)
 WITHOUT ROWID

;
INSERT INTO "provider_answers" VALUES('p','k','2054-04-09 12:00:00.000000',X'616E73776572');
CREATE TABLE schema_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT schema_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "schema_version" VALUES('0009_climate_cells');
CREATE INDEX events_by_calendar ON events (calendar);
CREATE INDEX provider_answers_by_expiry ON provider_answers (expires_at);
CREATE INDEX forecast_records_by_day ON forecast_records (issued_on);
CREATE TRIGGER climate_extent_insert AFTER INSERT ON climate_months BEGIN INSERT INTO climate_extent (id, rows, newest) VALUES (1, 1, NEW.fetched_at) ON CONFLICT (id) DO UPDATE SET rows = climate_extent.rows + 1, newest = max(coalesce(climate_extent.newest, NEW.fetched_at), NEW.fetched_at); END;
CREATE TRIGGER climate_extent_update AFTER UPDATE ON climate_months BEGIN UPDATE climate_extent SET newest = NEW.fetched_at WHERE newest IS NULL OR newest < NEW.fetched_at; END;
CREATE TRIGGER climate_extent_delete AFTER DELETE ON climate_months BEGIN UPDATE climate_extent SET rows = rows - 1; END;
CREATE INDEX climate_cells_by_day ON climate_cells (asked_on);
COMMIT;
