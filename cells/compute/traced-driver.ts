import { currentWork, withinWork } from '#common/current-work.ts'
import { beginSpan, isTraced, spanMeasure } from '#common/trace/span.ts'
import type { Driver } from '#drivers/driver.ts'
import { aroundDriver } from './around-driver.ts'

/**
 * The same driver. Where spans are recorded, calls of it that are part of traced work are spans, and what they lead to is
 * within these.
 */
export function tracedDriver(driver: Driver): Driver {
  if (!spanMeasure.isOn) return driver
  const { name } = driver
  return aroundDriver(driver, (method, call) => {
    const work = currentWork()
    if (work === undefined || !isTraced(work)) return call()
    const span = beginSpan(work, {
      name: `${name} ${method}`,
      kind: 'internal',
      attributes: { 'weir.driver.name': name, 'weir.driver.method': method },
    })
    const result = withinWork(span.work, call)
    if (!(result instanceof Promise)) return result
    return result.then(
      (value: unknown) => {
        span.end()
        return value
      },
      (error: unknown) => {
        span.end(error)
        throw error
      },
    )
  })
}
