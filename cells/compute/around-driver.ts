import type { Driver } from '#drivers/driver.ts'

type Method = (...args: readonly unknown[]) => unknown

/** Makes a call of a driver; `method` is named after the parts of the driver that it is in, such as `networks.route`. */
export type AroundCall = (method: string, call: () => unknown) => unknown

/**
 * The same driver, whose methods are called by `around`, those of its parts too; what else it has is as before. It is
 * disposed of by itself.
 */
export function aroundDriver(driver: Driver, around: AroundCall): Driver {
  return wrapped(driver, '', around)
}

function wrapped<T extends object>(target: T, prefix: string, around: AroundCall): T {
  const known = new Map<PropertyKey, unknown>()
  return new Proxy(target, {
    get: (_, property) => {
      const value: unknown = Reflect.get(target, property, target)
      if (typeof property === 'symbol') return value
      if (typeof value !== 'function' && !isPart(value)) return value
      if (!known.has(property)) known.set(property, member(value, `${prefix}${property}`))
      return known.get(property)
    },
  })

  function member(value: object, name: string): unknown {
    if (typeof value !== 'function') return wrapped(value, `${name}.`, around)
    return (...args: readonly unknown[]) =>
      around(name, () => (value as Method).apply(target, [...args]))
  }
}

function isPart(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
