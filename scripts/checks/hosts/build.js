// Builds react.jsx and vue.js as an app's own build does; StrictMode is strict in development alone.
import react from "@vitejs/plugin-react";
import vue from "@vitejs/plugin-vue";
import { build } from "vite";

for (const [name, input, plugin] of [["react", "react.jsx", react], ["vue", "vue.js", vue]]) {
  for (const mode of ["development", "production"]) {
    process.env.NODE_ENV = mode;
    await build({
      configFile: false,
      logLevel: "warn",
      mode,
      plugins: [plugin()],
      build: {
        outDir: `built/${name}-${mode}`,
        rollupOptions: { input, output: { format: "iife", entryFileNames: "app.js" } },
      },
    });
  }
}
