import { createApp, h, shallowRef } from "vue";
import Stay from "./Stay.vue";

const stays = shallowRef([]);
window.show = (all) => { stays.value = all; };

createApp(() => stays.value.map((stay, place) => h(Stay, { key: place, title: `Stay ${place}`, stay }))).mount("#app");
