import { Histogram, type Registry } from 'prom-client'
import { isFailure } from '#common/errors.ts'
import { secondsSince } from '#common/metrics/measure.ts'
import type { Driver } from '#drivers/driver.ts'
import { aroundDriver } from '../around-driver.ts'

const CALL_S = [0.01, 0.05, 0.25, 1, 5, 20, 60, 300]

type Observe = (method: string, result: string, seconds: number) => void

/** The same driver, whose calls the registry counts by method and result; parts of it are named before their methods. It is disposed of by itself. */
export function measuredDriver(driver: Driver, registry: Registry): Driver {
  const duration = new Histogram({
    name: 'weir_driver_call_duration_seconds',
    help: 'Time that a call of the driver took',
    labelNames: ['driver', 'method', 'result'],
    buckets: CALL_S,
    registers: [registry],
  })
  const { name } = driver
  const observe: Observe = (method, result, seconds) =>
    duration.observe({ driver: name, method, result }, seconds)
  return aroundDriver(driver, (method, call) => timed(method, call, observe))
}

function timed(method: string, call: () => unknown, observe: Observe): unknown {
  const startedAt = performance.now()
  const result = call()
  if (!(result instanceof Promise)) return result
  return result.then(
    (value: unknown) => {
      observe(method, 'ok', secondsSince(startedAt))
      return value
    },
    (error: unknown) => {
      const kind = isFailure(error) ? error.kind : 'error'
      observe(method, kind, secondsSince(startedAt))
      throw error
    },
  )
}
