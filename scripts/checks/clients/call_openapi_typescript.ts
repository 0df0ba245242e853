// Calls the service with openapi-fetch and the types that openapi-typescript makes.

import createClient from "openapi-fetch";
import type { paths } from "./openapi_typescript/schema";

function sure(holds: boolean, what: unknown): asserts holds {
  if (!holds) throw new Error(JSON.stringify(what));
}

const env = process.env;
const [first, last, past] = ["2026-11-28", "2026-12-01", "2026-10-01"] as const;
const paris = { lat: 48.8566, lng: 2.3522 };
const client = createClient<paths>({
  baseUrl: env.BASE_URL!,
  headers: { Authorization: `Bearer ${env.API_KEY}` },
});

const { data: forecast } = await client.GET("/v1/pulse/weather", {
  params: { query: { ...paris, start: first, end: last } },
});
sure(forecast?.type === "weather", forecast);
sure(forecast.applicable && typeof forecast.days[0]!.temperature_max === "number", forecast);
sure(forecast.units.temperature === "°C", forecast.units);
console.log("weather", forecast.applicable);
const { data: over } = await client.GET("/v1/pulse/weather", {
  params: { query: { ...paris, start: past, end: past } },
});
sure(over?.type === "not_applicable" && over.reason === "stay_in_past", over);
console.log("weather", over.applicable);
const { data: sky } = await client.GET("/v1/pulse/astronomy", {
  params: { query: { ...paris, start: first, end: last } },
});
sure(sky?.type === "astronomy" && typeof sky.days[0]!.sun.sunrise === "string", sky);
console.log("astronomy", sky.applicable);
const { data: tables } = await client.GET("/v1/pulse/guide", { params: { query: paris } });
sure(tables?.type === "guide" && tables.restaurants.length > 0, tables);
console.log("guide", tables.applicable);
const { data: sea } = await client.GET("/v1/pulse/guide", {
  params: { query: { lat: -45, lng: -130 } },
});
sure(sea?.type === "not_applicable" && sea.reason === "no_restaurants_in_range", sea);
console.log("guide", sea.applicable);
const { data: shows } = await client.GET("/v1/pulse/events", {
  params: { query: { ...paris, start: first, end: last } },
});
sure(shows?.type === "events" && shows.events[0]!.start === "2026-11-28T20:00:00+01:00", shows);
console.log("events", shows.applicable);
const { data: none } = await client.GET("/v1/pulse/events", {
  params: { query: { ...paris, start: past, end: past } },
});
sure(none?.type === "not_applicable" && none.coverage.length === 0, none);
console.log("events", none.applicable);
const { data: whole } = await client.GET("/v1/pulse.json", {
  params: { query: { ...paris, start: first, end: last } },
});
sure(whole?.type === "pulse", whole);
console.log("pulse", whole.sections.weather?.type);
const { data: several } = await client.GET("/v1/pulse.json", {
  params: { query: { points: "48.8566,2.3522;-45,-130", sections: "guide" } },
});
sure(several?.type === "pulses", several);
console.log("pulses", several.results[1]!.not_applicable.guide?.reason);
const { error } = await client.GET("/v1/pulse/weather", {
  params: { query: { ...paris, start: last, end: first } },
});
sure(error !== undefined, error);
console.log("error", error.error.code);
