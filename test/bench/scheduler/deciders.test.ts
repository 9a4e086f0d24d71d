import { expect, test } from 'vitest'
import { byHand, product } from './deciders.ts'
import { sampleHosts } from './sample.ts'

test('scheduler and loop by hand choose the same hosts, one server after another', () => {
  const hosts = sampleHosts(300, { vcpus: 128, memoryMb: 16_384, diskGb: 128 })
  const [scheduler, loop] = [product(hosts), byHand(hosts)]
  const chosen = Array.from({ length: 200 }, () => scheduler(1))

  expect(chosen).toEqual(Array.from({ length: 200 }, () => loop(1)))
  expect(new Set(chosen).size).toBeGreaterThan(20)
})
