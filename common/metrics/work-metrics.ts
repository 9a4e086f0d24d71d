import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import {
  askMeasure,
  type BusRequestEnd,
  roundMeasure,
  sagaMeasure,
  serveMeasure,
  spansMeasure,
  statementMeasure,
} from './measures.ts'

const QUICK_S = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10]
const LONG_S = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 900]

/** Afterwards the registry counts statements, requests over the bus, sagas, rounds and spans of this process, until it is disposed. */
export function countWork(registry: Registry): Disposable {
  const listening = new DisposableStack()
  for (const count of [countStatements, countRequests, countSagas, countRounds, countSpans])
    listening.use(count(registry))
  return listening
}

function countStatements(registry: Registry): Disposable {
  const registers = [registry]
  const duration = new Histogram({
    name: 'weir_database_statement_duration_seconds',
    help: 'Time from a statement to the answer of the database',
    labelNames: ['kind'],
    buckets: QUICK_S,
    registers,
  })
  const failed = new Counter({
    name: 'weir_database_statements_failed_total',
    help: 'Statements that the database refused or did not answer',
    labelNames: ['kind'],
    registers,
  })
  return statementMeasure.listen(({ kind, seconds, isFailed }) => {
    duration.observe({ kind }, seconds)
    if (isFailed) failed.inc({ kind })
  })
}

function countRequests(registry: Registry): Disposable {
  const histogram = (name: string, help: string) => {
    const labelNames = ['operation', 'outcome']
    const made = new Histogram({ name, help, labelNames, buckets: QUICK_S, registers: [registry] })
    return ({ operation, outcome, seconds }: BusRequestEnd) =>
      made.observe({ operation, outcome }, seconds)
  }
  const listening = new DisposableStack()
  const asked = 'Time from a request over the bus to its answer, repeats included'
  listening.use(askMeasure.listen(histogram('weir_bus_request_duration_seconds', asked)))
  const served = 'Time in which this program answered a request over the bus'
  listening.use(serveMeasure.listen(histogram('weir_bus_served_duration_seconds', served)))
  return listening
}

function countSagas(registry: Registry): Disposable {
  const duration = new Histogram({
    name: 'weir_saga_duration_seconds',
    help: 'Time that this process worked on a saga until its end, or until it handed it over',
    labelNames: ['saga', 'outcome'],
    buckets: LONG_S,
    registers: [registry],
  })
  return sagaMeasure.listen(({ saga, outcome, seconds }) =>
    duration.observe({ saga, outcome }, seconds),
  )
}

function countRounds(registry: Registry): Disposable {
  const registers = [registry]
  const labelNames = ['reconciler']
  const counter = (name: string, help: string) => new Counter({ name, help, labelNames, registers })
  const rounds = counter('weir_reconciler_rounds_total', 'Rounds of a reconciler')
  const failures = counter('weir_reconciler_failures_total', 'Rounds that failed')
  const took = counter('weir_reconciler_round_seconds_total', 'Time that its rounds took')
  const succeeded = new Gauge({
    name: 'weir_reconciler_last_success_timestamp_seconds',
    help: 'When a round last succeeded',
    labelNames,
    registers,
  })
  return roundMeasure.listen(({ reconciler, isFailed, seconds }) => {
    rounds.inc({ reconciler })
    took.inc({ reconciler }, seconds)
    if (isFailed) failures.inc({ reconciler })
    else succeeded.setToCurrentTime({ reconciler })
  })
}

function countSpans(registry: Registry): Disposable {
  const counter = new Counter({
    name: 'weir_trace_spans_total',
    help: 'Spans that the collector took, and that were dropped',
    labelNames: ['outcome'],
    registers: [registry],
  })
  return spansMeasure.listen(({ outcome, spans }) => counter.inc({ outcome }, spans))
}
