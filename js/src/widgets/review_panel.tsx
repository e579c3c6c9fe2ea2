import { PanelView } from "../view/console";
import { widget } from "./mount";

export default widget(PanelView);
