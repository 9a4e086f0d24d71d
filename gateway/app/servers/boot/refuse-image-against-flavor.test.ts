import { expect, test } from 'vitest'
import { refuseImageAgainstFlavor } from './refuse-image-against-flavor.ts'

test.each([
  [{}, {}, undefined],
  [{ hw_mem_page_size: '2MB' }, {}, "Page size 2MB forbidden against '<empty>'"],
  [
    { hw_mem_page_size: 'large' },
    { 'hw:mem_page_size': 'small' },
    "Page size large forbidden against 'small'",
  ],
  [{ hw_mem_page_size: '2MB' }, { 'hw:mem_page_size': 'large' }, undefined],
  [{ hw_cpu_policy: 'dedicated' }, {}, undefined],
  [
    { hw_cpu_policy: 'dedicated' },
    { 'hw:cpu_policy': 'shared' },
    /'hw_cpu_policy' is not permitted/,
  ],
  [{ hw_cpu_policy: 'shared' }, { 'hw:cpu_policy': 'dedicated' }, undefined],
])('an image with %j on a flavor with %j is refused with %s', (properties, extraSpecs, message) => {
  const check = () => refuseImageAgainstFlavor({ properties }, { extraSpecs })
  if (message === undefined) expect(check).not.toThrow()
  else expect(check).toThrow(message)
})
