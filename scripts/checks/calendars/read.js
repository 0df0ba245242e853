// Read every .ics file of a folder with ical.js and node-ical, and print what each found as JSON: by
// library and file, the entries as [uid, start, end], each a date or an instant.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ICAL from "ical.js";
import ical from "node-ical";

const day = (date) =>
  [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((one) => String(one).padStart(2, "0")).join("-");

function icalJs(text) {
  const at = (time) => (time.isDate ? time.toString() : time.toJSDate().toISOString());
  const root = new ICAL.Component(ICAL.parse(text));
  return root.getAllSubcomponents("vevent").map((one) => {
    const { uid, startDate, endDate } = new ICAL.Event(one);
    return [uid, at(startDate), at(endDate)];
  });
}

function nodeIcal(text) {
  return Object.values(ical.sync.parseICS(text))
    .filter((one) => one.type === "VEVENT")
    .map(({ uid, start, end, datetype }) => {
      const at = (date) => (datetype === "date" ? day(date) : date.toISOString());
      return [uid, at(start), at(end)];
    });
}

const folder = process.argv[2], found = { "ical.js": {}, "node-ical": {} };
for (const name of readdirSync(folder)) {
  const text = readFileSync(join(folder, name), "utf8");
  found["ical.js"][name] = icalJs(text);
  found["node-ical"][name] = nodeIcal(text);
}
process.stdout.write(JSON.stringify(found));
