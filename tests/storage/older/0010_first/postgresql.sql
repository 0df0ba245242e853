CREATE TABLE public.api_keys (
    id character varying(32) NOT NULL,
    name character varying(200) NOT NULL,
    digest bytea NOT NULL,
    per_minute integer NOT NULL,
    per_day integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    replaced_by character varying(32)
);
CREATE TABLE public.climate_cells (
    source character varying(40) NOT NULL,
    cell character varying(80) NOT NULL,
    asked_on date NOT NULL
);
CREATE TABLE public.climate_months (
    source character varying(40) NOT NULL,
    cell character varying(80) NOT NULL,
    month integer NOT NULL,
    year integer NOT NULL,
    lat double precision NOT NULL,
    lng double precision NOT NULL,
    elevation double precision,
    fetched_at timestamp with time zone NOT NULL,
    data bytea NOT NULL
);
CREATE TABLE public.event_calendars (
    id character varying(64) NOT NULL,
    kind character varying(16) NOT NULL,
    checked_at timestamp with time zone,
    record text NOT NULL
);
CREATE TABLE public.events (
    cell integer NOT NULL,
    last_day date NOT NULL,
    calendar character varying(64) NOT NULL,
    id character varying(64) NOT NULL,
    first_day date NOT NULL,
    record text NOT NULL
);
CREATE TABLE public.facts (
    name character varying(64) NOT NULL,
    value character varying(200) NOT NULL
);
CREATE TABLE public.forecast_records (
    provider character varying(40) NOT NULL,
    cell character varying(80) NOT NULL,
    issued_on date NOT NULL,
    elevation double precision,
    data bytea NOT NULL
);
CREATE TABLE public.guide_restaurants (
    version integer NOT NULL,
    id character varying(64) NOT NULL,
    record text NOT NULL
);
CREATE TABLE public.guide_versions (
    number integer NOT NULL,
    provenance text NOT NULL,
    rows integer NOT NULL,
    imported_at timestamp with time zone NOT NULL,
    replaces integer,
    active boolean NOT NULL
);
CREATE TABLE public.point_heights (
    lat integer NOT NULL,
    lng integer NOT NULL,
    metres double precision NOT NULL
);
CREATE TABLE public.provider_answers (
    provider character varying(40) NOT NULL,
    key character varying(200) NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    data bytea NOT NULL
);
CREATE TABLE public.provider_units (
    host character varying(40) NOT NULL,
    seconds double precision NOT NULL,
    bucket bigint NOT NULL,
    units double precision NOT NULL,
    public_units double precision NOT NULL
);
CREATE TABLE public.schema_version (
    version_num character varying(32) NOT NULL
);
INSERT INTO public.api_keys VALUES ('hotel', 'hotel', '\x686f74656c2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e', 600, 50000, '2026-11-21 12:00:00+00', NULL, NULL, NULL);
INSERT INTO public.api_keys VALUES ('revoked', 'revoked', '\x7265766f6b65642e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e', 600, 50000, '2026-11-21 12:00:00+00', NULL, '2026-11-23 12:00:00+00', NULL);
INSERT INTO public.climate_cells VALUES ('open_meteo_archive', '48.85,2.35', '2026-11-24');
INSERT INTO public.climate_months VALUES ('open_meteo_archive', '48.85,2.35', 12, 2020, 48.85, 2.35, 35, '2026-11-23 12:00:00+00', '\x7878787878787878787878787878787878787878');
INSERT INTO public.climate_months VALUES ('open_meteo_archive', '48.85,2.35', 12, 2021, 48.85, 2.35, 35, '2026-11-24 12:00:00+00', '\x7878787878787878787878787878787878787878');
INSERT INTO public.event_calendars VALUES ('cal', 'import', NULL, '{"id":"cal","kind":"import","source":"file","name":null,"lat":null,"lng":null,"country":null,"region":null,"timezone":null,"category":null,"rows":10,"imported_at":null,"checked_at":null,"failed_with":null,"etag":null,"last_modified":null,"came_empty":false,"digest":null,"tags":null}');
INSERT INTO public.event_calendars VALUES ('feed', 'feed', NULL, '{"id":"feed","kind":"feed","source":"https://a.example/x.ics","name":null,"lat":null,"lng":null,"country":null,"region":null,"timezone":null,"category":null,"rows":0,"imported_at":null,"checked_at":null,"failed_with":null,"etag":null,"last_modified":null,"came_empty":false,"digest":null,"tags":null}');
INSERT INTO public.events VALUES (-18002, '2026-12-25', 'cal', 'cal:fr', '2026-12-24', '{"id":"cal:fr","source":"calendars","title":"Event fr ''?:%","category":"concert","start":{"day":"2026-12-24"},"end":{"day":"2026-12-25"},"all_day":true,"scope":"country","country":"FR"}');
INSERT INTO public.events VALUES (5550480, '2026-12-01', 'cal', 'cal:0', '2026-12-01', '{"id":"cal:0","source":"calendars","title":"Event 0 ''?:%","category":"concert","start":{"day":"2026-12-01"},"all_day":true,"place":{"lat":48.8566,"lng":2.3522}}');
INSERT INTO public.events VALUES (5550480, '2026-12-02', 'cal', 'cal:1', '2026-12-02', '{"id":"cal:1","source":"calendars","title":"Event 1 ''?:%","category":"concert","start":{"day":"2026-12-02"},"end":{"day":"2026-12-02"},"all_day":true,"place":{"lat":48.8566,"lng":2.3522}}');
INSERT INTO public.events VALUES (5550480, '2026-12-04', 'cal', 'cal:2', '2026-12-03', '{"id":"cal:2","source":"calendars","title":"Event 2 ''?:%","category":"concert","start":{"day":"2026-12-03"},"end":{"day":"2026-12-04"},"all_day":true,"place":{"lat":48.8566,"lng":2.3522}}');
INSERT INTO public.events VALUES (5550480, '2026-12-11', 'cal', 'cal:3', '2026-12-04', '{"id":"cal:3","source":"calendars","title":"Event 3 ''?:%","category":"concert","start":{"day":"2026-12-04"},"end":{"day":"2026-12-11"},"all_day":true,"place":{"lat":48.8566,"lng":2.3522}}');
INSERT INTO public.events VALUES (5550480, '2026-12-13', 'cal', 'cal:4', '2026-12-05', '{"id":"cal:4","source":"calendars","title":"Event 4 ''?:%","category":"concert","start":{"day":"2026-12-05"},"end":{"day":"2026-12-13"},"all_day":true,"place":{"lat":48.8566,"lng":2.3522}}');
INSERT INTO public.events VALUES (5550480, '2027-02-07', 'cal', 'cal:5', '2026-12-06', '{"id":"cal:5","source":"calendars","title":"Event 5 ''?:%","category":"concert","start":{"day":"2026-12-06"},"end":{"day":"2027-02-07"},"all_day":true,"place":{"lat":48.8566,"lng":2.3522}}');
INSERT INTO public.events VALUES (5550480, '2028-01-10', 'cal', 'cal:6', '2026-12-07', '{"id":"cal:6","source":"calendars","title":"Event 6 ''?:%","category":"concert","start":{"day":"2026-12-07"},"end":{"day":"2028-01-10"},"all_day":true,"place":{"lat":48.8566,"lng":2.3522}}');
INSERT INTO public.events VALUES (5550480, '2028-07-29', 'cal', 'cal:7', '2026-12-08', '{"id":"cal:7","source":"calendars","title":"Event 7 ''?:%","category":"concert","start":{"day":"2026-12-08"},"end":{"day":"2028-07-29"},"all_day":true,"place":{"lat":48.8566,"lng":2.3522}}');
INSERT INTO public.events VALUES (5550480, '2045-01-31', 'cal', 'cal:old', '1990-05-01', '{"id":"cal:old","source":"calendars","title":"Event old ''?:%","category":"concert","start":{"day":"1990-05-01"},"end":{"day":"2045-01-31"},"all_day":true,"place":{"lat":48.8566,"lng":2.3522}}');
INSERT INTO public.facts VALUES ('schema_usable_from', '0010_first');
INSERT INTO public.facts VALUES ('keys_version', 'eb46a51e68fd449ab1b315fb49895c3e');
INSERT INTO public.forecast_records VALUES ('p', 'c', '2026-11-23', NULL, '\x66');
INSERT INTO public.guide_restaurants VALUES (1, 'r00001', '{"id":"r00001","name":"Table 1","tier":"one_star","lat":48.85,"lng":2.35}');
INSERT INTO public.guide_restaurants VALUES (2, 'r00001', '{"id":"r00001","name":"Table 1","tier":"one_star","lat":48.85,"lng":2.35}');
INSERT INTO public.guide_restaurants VALUES (2, 'r00002', '{"id":"r00002","name":"Table 2","tier":"one_star","lat":48.85,"lng":2.35}');
INSERT INTO public.guide_versions VALUES (1, '{"kind":"plain_csv","source":"made-up.csv","dated":"2025-03-01","attribution":"Made up"}', 1, '2026-11-23 12:00:00+00', NULL, false);
INSERT INTO public.guide_versions VALUES (2, '{"kind":"plain_csv","source":"made-up.csv","dated":"2025-03-01","attribution":"Made up"}', 2, '2026-11-23 12:00:00+00', 1, true);
INSERT INTO public.point_heights VALUES (488566, 23522, 35);
INSERT INTO public.provider_answers VALUES ('p', 'k', '2054-04-09 12:00:00+00', '\x616e73776572');
INSERT INTO public.schema_version VALUES ('0010_first');
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.climate_cells
    ADD CONSTRAINT climate_cells_pkey PRIMARY KEY (source, cell);
ALTER TABLE ONLY public.climate_months
    ADD CONSTRAINT climate_months_pkey PRIMARY KEY (source, cell, month, year);
ALTER TABLE ONLY public.event_calendars
    ADD CONSTRAINT event_calendars_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (cell, last_day, calendar, id);
ALTER TABLE ONLY public.facts
    ADD CONSTRAINT facts_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.forecast_records
    ADD CONSTRAINT forecast_records_pkey PRIMARY KEY (provider, cell, issued_on);
ALTER TABLE ONLY public.guide_restaurants
    ADD CONSTRAINT guide_restaurants_pkey PRIMARY KEY (version, id);
ALTER TABLE ONLY public.guide_versions
    ADD CONSTRAINT guide_versions_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.point_heights
    ADD CONSTRAINT point_heights_pkey PRIMARY KEY (lat, lng);
ALTER TABLE ONLY public.provider_answers
    ADD CONSTRAINT provider_answers_pkey PRIMARY KEY (provider, key);
ALTER TABLE ONLY public.provider_units
    ADD CONSTRAINT provider_units_pkey PRIMARY KEY (host, seconds, bucket);
ALTER TABLE ONLY public.schema_version
    ADD CONSTRAINT schema_version_pkc PRIMARY KEY (version_num);
CREATE INDEX climate_cells_by_day ON public.climate_cells USING btree (asked_on);
CREATE INDEX climate_months_by_fetch ON public.climate_months USING btree (fetched_at);
CREATE INDEX events_by_calendar ON public.events USING btree (calendar);
CREATE INDEX forecast_records_by_day ON public.forecast_records USING btree (issued_on);
CREATE INDEX provider_answers_by_expiry ON public.provider_answers USING btree (expires_at);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_calendar_fkey FOREIGN KEY (calendar) REFERENCES public.event_calendars(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.guide_restaurants
    ADD CONSTRAINT guide_restaurants_version_fkey FOREIGN KEY (version) REFERENCES public.guide_versions(number) ON DELETE CASCADE;
