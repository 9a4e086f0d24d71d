import { expect, test } from 'vitest'
import type { InstanceSpec } from '../../driver.ts'
import { refuseUnlimited } from './create-container.ts'

const spec = (rootGb: number) => ({ flavor: { rootGb }, image: { id: 'i' } }) as InstanceSpec

test('an image with volumes of its own is refused where the disk of the flavor is limited', () => {
  const declaredVolumes = ['/data', '/var/lib']

  expect(() => refuseUnlimited({ spec: spec(1), limitsDisk: true, declaredVolumes })).toThrow(
    'declares volumes (/data, /var/lib)',
  )
  expect(() => refuseUnlimited({ spec: spec(0), limitsDisk: true, declaredVolumes })).not.toThrow()
  expect(() => refuseUnlimited({ spec: spec(1), limitsDisk: false, declaredVolumes })).not.toThrow()
  expect(() =>
    refuseUnlimited({ spec: spec(1), limitsDisk: true, declaredVolumes: [] }),
  ).not.toThrow()
})
