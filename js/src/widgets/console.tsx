import { ConsoleView } from "../view/console";
import { widget } from "./mount";

export default widget(ConsoleView);
