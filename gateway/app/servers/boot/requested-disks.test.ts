import { describe, expect, test } from 'vitest'
import { refuseBlankBeyond, refuseDisks } from './requested-disks.ts'
import type { RequestedDisk } from './server-request.ts'

const blank: RequestedDisk = {
  sourceType: 'blank',
  destinationType: 'local',
  sourceId: undefined,
  bootIndex: -1,
  guestFormat: undefined,
  size: undefined,
}
const image: RequestedDisk = { ...blank, sourceType: 'image', sourceId: 'an-image', bootIndex: 0 }
const swap: RequestedDisk = { ...blank, guestFormat: 'swap' }
const flavor = { ephemeralGb: 4, swapMb: 512 }

describe('disks of a boot', () => {
  test.each<[string, readonly RequestedDisk[]]>([
    ['not built with volumes', [{ ...blank, sourceType: 'volume', sourceId: 'v' }]],
    ['not built with volumes', [{ ...blank, sourceType: 'snapshot', sourceId: 's' }]],
    ['Missing device UUID', [{ ...blank, sourceType: 'volume' }]],
    ['not built with volumes', [{ ...blank, destinationType: 'volume' }]],
    ['not built with volumes', [{ ...image, destinationType: 'volume' }]],
    ['Mapping image to local', [{ ...image, sourceId: 'another' }]],
    ['Mapping image to local', [{ ...image, bootIndex: -1 }]],
    ['Boot sequence', [image, image]],
    ['Boot sequence', [image, { ...blank, bootIndex: 0 }]],
    ['Invalid device UUID', [{ ...blank, sourceId: 'x' }]],
    ["guest_format 'ext4'", [{ ...blank, guestFormat: 'ext4' }]],
  ])('are refused: %s', (text, disks) => {
    expect(() => refuseDisks({ disks, imageRef: 'an-image' })).toThrow(text)
  })

  test.each<[string, readonly RequestedDisk[]]>([
    ['More than one swap', [swap, swap]],
    ['Swap drive requested is larger', [{ ...swap, size: 513 }]],
    ["the flavor's 512 MiB", [{ ...swap, size: 511 }]],
    ['Ephemeral disks requested are larger', [blank, { ...blank, size: 1 }]],
    ["the flavor's 4 GiB", [{ ...blank, size: 3 }]],
    [
      "the flavor's 4 GiB",
      [
        { ...blank, size: 2 },
        { ...blank, size: 2 },
      ],
    ],
  ])('are refused beside the flavor: %s', (text, disks) => {
    expect(() => refuseBlankBeyond(disks, flavor)).toThrow(text)
  })

  test('follow from image and flavor', () => {
    for (const disks of [[], [image], [image, blank, swap], [{ ...blank, size: 4 }]]) {
      refuseDisks({ disks, imageRef: 'an-image' })
      refuseBlankBeyond(disks, flavor)
    }
  })
})
