// Calls the service through the client that openapi-generator makes for TypeScript (fetch).

import { Configuration, ErrorEnvelopeFromJSON, ResponseError, SectionsApi } from "./typescript_fetch/index";

function sure(holds: boolean, what: unknown): asserts holds {
  if (!holds) throw new Error(JSON.stringify(what));
}

const env = process.env;
const [first, last, past] = ["2026-11-28", "2026-12-01", "2026-10-01"].map((day) => new Date(day)) as [Date, Date, Date];
const paris = { lat: 48.8566, lng: 2.3522 };
const api = new SectionsApi(new Configuration({ basePath: env.BASE_URL!, accessToken: env.API_KEY! }));

const forecast = await api.weather({ ...paris, start: first, end: last });
sure(forecast.type === "weather", forecast);
sure(forecast.applicable && typeof forecast.days[0]!.temperatureMax === "number", forecast);
sure(forecast.units.temperature === "°C", forecast.units);
console.log("weather", forecast.applicable);
const over = await api.weather({ ...paris, start: past, end: past });
sure(over.type === "not_applicable" && over.reason === "stay_in_past", over);
console.log("weather", over.applicable);
const sky = await api.astronomy({ ...paris, start: first, end: last });
sure(sky.type === "astronomy" && sky.days[0]!.sun.sunrise instanceof Date, sky);
console.log("astronomy", sky.applicable);
const tables = await api.guide(paris);
sure(tables.type === "guide" && tables.restaurants.length > 0, tables);
console.log("guide", tables.applicable);
const sea = await api.guide({ lat: -45, lng: -130 });
sure(sea.type === "not_applicable" && sea.reason === "no_restaurants_in_range", sea);
console.log("guide", sea.applicable);
const shows = await api.events({ ...paris, start: first, end: last });
sure(shows.type === "events" && shows.events[0]!.start === "2026-11-28T20:00:00+01:00", shows);
console.log("events", shows.applicable);
const none = await api.events({ ...paris, start: past, end: past });
sure(none.type === "not_applicable" && none.coverage.length === 0, none);
console.log("events", none.applicable);
const whole = await api.pulse({ ...paris, start: first, end: last });
sure(whole.type === "pulse", whole);
console.log("pulse", whole.sections.weather?.type);
const several = await api.pulse({ points: "48.8566,2.3522;-45,-130", sections: "guide" });
sure(several.type === "pulses", several);
console.log("pulses", several.results[1]!.notApplicable.guide?.reason);
try {
  await api.weather({ ...paris, start: last, end: first });
} catch (error) {
  sure(error instanceof ResponseError, error);
  console.log("error", ErrorEnvelopeFromJSON(await error.response.json()).error.code);
}
