import { expect, test } from 'vitest'
import type { StoreSummary } from '#openapi/wire/cell-volume.ts'
import { type LikeSource, refuseUnfitStore, refuseUnlike } from './volume-source.ts'

const STORE: StoreSummary = {
  ...{ id: 's', name: 'luns', engine: 'iscsi', zones: ['north'], totalGb: 9, freeGb: 9 },
  ...{ promisedGb: 0, multiattach: false, encrypts: false, isUp: true },
}
const like = (store: StoreSummary | undefined): LikeSource => ({
  ...{ zone: 'north', sizeGb: 1, type: null, storeName: 'luns', encryption: null, store },
})
const SHARED = { specs: { multiattach: '<is> True' }, encryption: null }
const ENCRYPTED = { specs: {}, encryption: { keyBits: 256 } } as const

test.each([
  ['one that servers share', SHARED, /whose volumes one server uses at a time/],
  ['an encrypted one', ENCRYPTED, /which encrypts no volumes/],
])('a copy of a volume is not %s where the store cannot have such', (_, wanted, message) => {
  const refused = () => refuseUnfitStore(like(STORE), 'gold', wanted)

  expect(refused).toThrow(message)
  expect(refused).toThrow(/Invalid volume_type gold provided/)
})

test.each([
  ['a store that can', { ...STORE, multiattach: true, encrypts: true }],
  ['a store that is not known now', undefined],
])('a copy in %s is not refused', (_, store) => {
  for (const wanted of [SHARED, ENCRYPTED, { specs: {}, encryption: null }])
    expect(() => refuseUnfitStore(like(store), 'gold', wanted)).not.toThrow()
})

test.each(['snapshot', 'volume'] as const)(
  'a zone other than that of its %s is refused',
  (kind) => {
    const asked = { sizeGb: 1, zone: 'south', type: null }

    expect(() => refuseUnlike(like(STORE), asked, kind)).toThrow(
      `in the same availability zone as the ${kind === 'volume' ? 'source volume' : 'snapshot'}`,
    )
  },
)
