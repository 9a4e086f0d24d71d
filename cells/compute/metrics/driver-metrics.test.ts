import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import type { Driver } from '#drivers/driver.ts'
import { measuredDriver } from './driver-metrics.ts'

// Goal: what a driver does is counted, and the driver does what it did.

class Sample {
  readonly name = 'fake'
  readonly #asked: string[] = []
  readonly pause = {
    pause: async (id: string) => {
      this.#asked.push(`pause ${id}`)
    },
  }

  spawn(id: string): Promise<string> {
    this.#asked.push(`spawn ${id}`)
    return Promise.resolve(id)
  }

  destroy(): Promise<void> {
    return Promise.reject(new Failure('unavailable', 'The engine is away.'))
  }

  watch(): string {
    return 'watching'
  }

  get asked(): readonly string[] {
    return this.#asked
  }
}

test('calls are counted by method and result, those of parts below the name of the part', async () => {
  const registry = new Registry()
  const sample = new Sample()
  const driver = measuredDriver(sample as unknown as Driver, registry) as unknown as Sample

  expect(await driver.spawn('a')).toBe('a')
  await driver.pause.pause('a')
  await expect(driver.destroy()).rejects.toThrow('The engine is away.')
  expect(driver.watch()).toBe('watching')
  expect(sample.asked).toEqual(['spawn a', 'pause a'])
  expect(driver.pause.pause).toBe(driver.pause.pause)

  const text = await registry.metrics()
  const counted = Array.from(
    text.matchAll(/_seconds_count\{driver="fake",method="(\S+)",result="(\S+)"\} (\d+)/g),
    ([, method, result, count]) => `${method} ${result} ${count}`,
  )
  expect(counted).toEqual(['spawn ok 1', 'pause.pause ok 1', 'destroy unavailable 1'])
})
