import { GraphOnlyView } from "../view/console";
import { widget } from "./mount";

export default widget(GraphOnlyView);
