import { expect, test } from 'vitest'
import { newId, type VolumeId } from '#common/ids.ts'
import { Keyring } from './keyring.ts'

const signal = AbortSignal.timeout(10_000)

test('a key is known while somebody holds it, and the backend forgets it with the last holder', async () => {
  const told: string[] = []
  const ring = new Keyring({
    keep: async (id, key) => void told.push(`keep ${id} ${key}`),
    forget: async (id) => void told.push(`forget ${id}`),
  })
  const [id, other] = [newId<VolumeId>(), newId<VolumeId>()]
  const none = expect.objectContaining({ kind: 'conflict' })

  await ring.hold('attach', [{ id, key: 'a' }], signal)
  await ring.hold('move', [{ id, key: 'a' }], signal)
  await ring.hold('move', [{ id: other, key: 'b' }], signal)
  for (const _ of [1, 2]) await ring.drop('attach', signal)
  expect([ring.keyOf(id), ring.keyOf(other)]).toEqual(['a', 'b'])
  await ring.drop('move', signal)

  for (const each of [id, other]) expect(() => ring.keyOf(each)).toThrow(none)
  expect(told).toEqual([
    `keep ${id} a`,
    `keep ${id} a`,
    `keep ${other} b`,
    `forget ${id}`,
    `forget ${other}`,
  ])
})
