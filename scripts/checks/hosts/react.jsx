import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import { Stay } from "./Stay.jsx";

function Page() {
  const [stays, show] = useState([]);
  window.show = show;
  return stays.map((stay, place) => <Stay key={place} title={`Stay ${place}`} {...stay} />);
}

createRoot(document.getElementById("app")).render(<StrictMode><Page /></StrictMode>);
