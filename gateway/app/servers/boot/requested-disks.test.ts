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
const volume: RequestedDisk = {
  ...blank,
  sourceType: 'volume',
  destinationType: 'volume',
  sourceId: 'v',
}
const swap: RequestedDisk = { ...blank, guestFormat: 'swap' }
const flavor = { ephemeralGb: 4, swapMb: 512 }

describe('disks of a boot', () => {
  test.each<[string, readonly RequestedDisk[]]>([
    ['Boot sequence', [{ ...volume, bootIndex: 0 }]],
    ['Boot sequence', [{ ...volume, bootIndex: 2 }]],
    ['Boot sequence', [image, { ...image, destinationType: 'volume' }]],
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

  test('are refused where nothing is first', () => {
    expect(() => refuseDisks({ disks: [volume], imageRef: null })).toThrow('Invalid imageRef')
  })

  test('may be volumes, of which one may be first', () => {
    const root = { ...volume, bootIndex: 0 }
    refuseDisks({ disks: [root, { ...volume, bootIndex: 1 }], imageRef: null })
    refuseDisks({ disks: [image, volume], imageRef: 'an-image' })
    refuseBlankBeyond([{ ...blank, destinationType: 'volume', size: 100 }], flavor)
  })

  test('follow from image and flavor', () => {
    for (const disks of [[], [image], [image, blank, swap], [{ ...blank, size: 4 }]]) {
      refuseDisks({ disks, imageRef: 'an-image' })
      refuseBlankBeyond(disks, flavor)
    }
  })
})
