export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A node's place: the middle, and how large it is. */
export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

/** The height of every node, in pixels. */
export const HEIGHT = 40;

export const edgeKey = (edge: { source: string; target: string }) => JSON.stringify([edge.source, edge.target]);
