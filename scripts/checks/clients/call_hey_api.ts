// Calls the service through the client that hey-api makes.

import { client } from "./hey_api/client.gen.js";
import { astronomy, events, guide, pulse, weather } from "./hey_api/index.js";

function sure(holds: boolean, what: unknown): asserts holds {
  if (!holds) throw new Error(JSON.stringify(what));
}

const env = process.env;
const [first, last, past] = ["2026-11-28", "2026-12-01", "2026-10-01"] as const;
const paris = { lat: 48.8566, lng: 2.3522 };
client.setConfig({ baseUrl: env.BASE_URL!, auth: env.API_KEY! });

const { data: forecast } = await weather({ query: { ...paris, start: first, end: last } });
sure(forecast?.type === "weather", forecast);
sure(forecast.applicable && typeof forecast.days[0]!.temperature_max === "number", forecast);
sure(forecast.units.temperature === "°C", forecast.units);
console.log("weather", forecast.applicable);
const { data: over } = await weather({ query: { ...paris, start: past, end: past } });
sure(over?.type === "not_applicable" && over.reason === "stay_in_past", over);
console.log("weather", over.applicable);
const { data: sky } = await astronomy({ query: { ...paris, start: first, end: last } });
sure(sky?.type === "astronomy" && typeof sky.days[0]!.sun.sunrise === "string", sky);
console.log("astronomy", sky.applicable);
const { data: tables } = await guide({ query: paris });
sure(tables?.type === "guide" && tables.restaurants.length > 0, tables);
console.log("guide", tables.applicable);
const { data: sea } = await guide({ query: { lat: -45, lng: -130 } });
sure(sea?.type === "not_applicable" && sea.reason === "no_restaurants_in_range", sea);
console.log("guide", sea.applicable);
const { data: shows } = await events({ query: { ...paris, start: first, end: last } });
sure(shows?.type === "events" && shows.events[0]!.start === "2026-11-28T20:00:00+01:00", shows);
console.log("events", shows.applicable);
const { data: none } = await events({ query: { ...paris, start: past, end: past } });
sure(none?.type === "not_applicable" && none.coverage.length === 0, none);
console.log("events", none.applicable);
const { data: whole } = await pulse({ query: { ...paris, start: first, end: last } });
sure(whole?.type === "pulse", whole);
console.log("pulse", whole.sections.weather?.type);
const { data: several } = await pulse({ query: { points: "48.8566,2.3522;-45,-130", sections: "guide" } });
sure(several?.type === "pulses", several);
console.log("pulses", several.results[1]!.not_applicable.guide?.reason);
const { error } = await weather({ query: { ...paris, start: last, end: first } });
sure(error !== undefined, error);
console.log("error", error.error.code);
