import { Histogram, type Registry } from 'prom-client'
import { isFailure } from '#common/errors.ts'
import { secondsSince } from '#common/metrics/measure.ts'
import type { Driver } from '#drivers/driver.ts'

const CALL_S = [0.01, 0.05, 0.25, 1, 5, 20, 60, 300]

type Observe = (method: string, result: string, seconds: number) => void
type Method = (...args: readonly unknown[]) => unknown

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
  return measured(driver, '', (method, result, seconds) =>
    duration.observe({ driver: name, method, result }, seconds),
  )
}

/** Wraps methods that return a promise; what else an object has is as before. */
function measured<T extends object>(target: T, prefix: string, observe: Observe): T {
  const known = new Map<PropertyKey, unknown>()
  return new Proxy(target, {
    get: (_, property) => {
      const value: unknown = Reflect.get(target, property, target)
      if (typeof property === 'symbol') return value
      if (typeof value !== 'function' && !isPart(value)) return value
      if (!known.has(property)) known.set(property, wrapped(value, `${prefix}${property}`))
      return known.get(property)
    },
  })

  function wrapped(value: object, name: string): unknown {
    if (typeof value !== 'function') return measured(value, `${name}.`, observe)
    return (...args: readonly unknown[]) =>
      timed(name, () => (value as Method).apply(target, [...args]), observe)
  }
}

function isPart(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
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
