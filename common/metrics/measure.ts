import { channel } from 'node:diagnostics_channel'

/** Reports of one kind of event, such as the end of a statement, to those who count them; several may. */
export interface Measure<Report> {
  /** False where nothing counts them: a caller then need not even take the time. */
  readonly isOn: boolean
  report(report: Report): void
  /** Calls `count` with every report of this process until it is disposed. `count` must not throw. */
  listen(count: (report: Report) => void): Disposable
}

/** `name` is unique in the process. */
export function measure<Report>(name: string): Measure<Report> {
  const reports = channel(`weir:${name}`)
  return {
    get isOn() {
      return reports.hasSubscribers
    },
    report: (report) => {
      if (reports.hasSubscribers) reports.publish(report)
    },
    listen: (count) => {
      const listener = (report: unknown) => count(report as Report)
      reports.subscribe(listener)
      return {
        [Symbol.dispose]: () => {
          reports.unsubscribe(listener)
        },
      }
    },
  }
}

/** Seconds since `startedAt`, a `performance.now()`. */
export function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1_000
}
