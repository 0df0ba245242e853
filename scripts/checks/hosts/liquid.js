// Renders the template on stdin for a product with metafields, as a shop does.
import { readFileSync } from "node:fs";
import { Liquid } from "liquidjs";

const product = {
  title: "Room & <View>",
  metafields: { custom: { latitude: { value: 43.3183 }, longitude: { value: -1.9812 } } },
};
console.log(await new Liquid().parseAndRender(readFileSync(0, "utf8"), { product }));
