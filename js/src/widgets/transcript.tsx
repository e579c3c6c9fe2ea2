import { TranscriptView } from "../view/console";
import { widget } from "./mount";

export default widget(TranscriptView);
