import { type Measure, measure } from './measure.ts'

export interface StatementEnd {
  /** `compound`: several statements in one round trip, usually with their commit. */
  readonly kind: 'read' | 'write' | 'compound' | 'commit'
  readonly seconds: number
  readonly isFailed: boolean
}

/** The end of a request over the bus, as the program that asks or the one that is asked sees it. */
export interface BusRequestEnd {
  /** As `operationOf` finds it in the subject. */
  readonly operation: string
  readonly outcome: 'answered' | 'refused' | 'unanswered'
  readonly seconds: number
}

/** The end of a reconciler's round. */
export interface RoundEnd {
  readonly reconciler: string
  readonly isFailed: boolean
  readonly seconds: number
}

/** The end of a saga in this process; `handed-over`: it continues later or elsewhere. */
export interface SagaEnd {
  readonly saga: string
  readonly outcome: string
  /** That this process worked on it, or waited for its remote steps. */
  readonly seconds: number
}

/** Spans that came to their end in the exporter. */
export interface SpansEnd {
  /** `not-taken`: the collector did not take them; `queue-full`: too many waited. */
  readonly outcome: 'taken' | 'not-taken' | 'queue-full'
  readonly spans: number
}

export const statementMeasure: Measure<StatementEnd> = measure('statement')
/** Of requests that this process makes. */
export const askMeasure: Measure<BusRequestEnd> = measure('bus request')
/** Of requests that this process answers; `unanswered`: it failed. */
export const serveMeasure: Measure<BusRequestEnd> = measure('bus request served')
export const roundMeasure: Measure<RoundEnd> = measure('reconciler round')
export const sagaMeasure: Measure<SagaEnd> = measure('saga')
export const spansMeasure: Measure<SpansEnd> = measure('spans sent')
