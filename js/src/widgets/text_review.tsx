import type { AnyModel } from "@anywidget/types";
import { kernelOf } from "../bridge/kernel";
import { TextsDesk } from "../bridge/texts_desk";
import { TextsView } from "../view/texts/review";
import type { Options } from "../wire/index";
import type { TextsRequestBody, TextsState } from "../wire/texts";
import { mounted } from "./mount";

type Model = AnyModel<{ state: TextsState; options: Options }>;

export default mounted<TextsDesk, Model>(
  TextsView,
  (model, onFault) => new TextsDesk(kernelOf<TextsState, TextsRequestBody>(model, onFault)),
);
