/** Shapes of what the pages are given; checked by `tsc`, unknown to the browser. */

export type Shape4 = [number, number, number, number];

export interface Origin { turn: number; picture: string; box: Shape4; region: string }
export interface Picture { key: string; hash: string; width: number; height: number; caption: string; cut: string; origin: Origin | null; seen: [number, number] | null; veil: string }
export interface Mask { width: number; height: number; counts: number[] }
export interface Region {
  id: string; picture: string; kind: "target" | "asked" | "named" | "hit" | "miss"; label: string; mark: string;
  box: Shape4 | null; point: [number, number] | null; mask: Mask | null; written: number[] | null; frame: string;
  turn: number | null; fate: string; pixels: string;
}
export interface Tokens {
  ends: number[] | null; probability: (number | null)[]; entropy: (number | null)[]; advantage: (number | null)[];
  ratio: (number | null)[]; teacher: (number | null)[];
}
export interface Turn {
  n: number; text: string; left_out: number; parts: { start: number; end: number; kind: string }[];
  spans: { start: number; end: number; region: string }[]; outcome: string; is_fine: boolean; was_run: boolean; call: string; code: string;
  observation: string; observation_left_out: number; pictures: string[]; advantage: number | null;
  seconds: Record<string, number> | null; tokens: Tokens | null;
}
/** What `built` of `dom.js` makes elements of. */
export type Drawing = any[] | null;
export interface Term { name: string; value: number | null; weight: number | null; contribution: number | null; note: string }
export interface Reward { total: number | null; terms: Term[]; notes: [string, string][] }
export interface Question {
  id: string; family: string; text: string; choices: string[]; answer: string; accepted: string[]; buckets: string[];
}
export interface Scene {
  id: string; run: string; run_name: string; stage: string; step: number; stream: string; sample: number; seed: number; policy_version: number;
  status: string; failure: string; verdict: "right" | "wrong" | "failed" | "unknown"; answer: string | null; task: Question;
  findings: string[]; reward: Reward | null; pictures: Picture[]; pictures_left_out: number; regions: Region[];
  turns: Turn[]; turns_left_out: number; sent: Sent[]; annotations?: Annotation[]; notes?: string[]; drawn: Record<string, Drawing>;
}
export interface Sent { is_prompt: boolean; turn: number; tokens: number; text: string; left_out: number }
export interface Row {
  id: string; stage: string; kind?: string; step: number; task: string; family: string; stream: string; sample: number;
  status: string; reason?: string; right: boolean | null; reward: number | null; advantage: number | null; entropy: number | null;
  seconds?: number | null; turns: number; tokens: number; tools: string[]; errors: string[]; terms?: Record<string, number>;
  question: string; answer: string | null; expected?: string; image: string | null; marked?: number;
}
export type Facet = [string, number][];
export interface Range { min: number; max: number; counts: number[] }
export interface Rows {
  run_name: string; total: number; matched: number; offset: number; rows: Row[]; facets: Record<string, Facet>; ranges: Record<string, Range>;
  indexing: { done: number; of: number } | null; search: { text: string; scanned: number; of: number; is_complete: boolean } | null;
  notes: string[];
}
/** Of a run what its pages use beside the drawings. */
export interface Run {
  id: string; name: string; title: string; error: string; trajectories: number; notes: string[]; story: string; progress: string; words: string; started?: string | null;
  drawn: Record<string, any>;
}
/** Metrics with their labels under one title. */
export interface Panel { title: string; subtitle: string; lines: Record<string, string> }
export interface Curves {
  stages: Record<string, { step: number[]; samples: (number | null)[]; tokens: (number | null)[]; hours: (number | null)[];
    metrics: Record<string, (number | null)[]>; panels: Panel[] }>;
}
export interface Annotation { id: string; drawn: Drawing[] }
export interface ExportData {
  answers: Record<string, unknown>; images: Record<string, string>; rows: Record<string, Row[]>; home: string; note: string;
}

declare global {
  const uPlot: any;
}
