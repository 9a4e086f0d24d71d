import { expect, test } from 'vitest'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { computeProgram } from './compute.ts'

test('a compute fetches images from the gateways here, or from those that an operator names', () => {
  const cell = { id: newId<CellId>(), name: 'north' }
  const host = { id: newId<HostId>(), name: 'north-1' }
  const files = {
    natsUrl: 'nats://127.0.0.1:1',
    natsCredentialsFile: '/creds',
    imageUrl: 'http://127.0.0.1:8774/image',
    stateDirectory: '/state',
    metricsTargets: '/targets',
    caFile: undefined,
    driver: 'fake',
    driverSettings: {},
  } as const
  const urlWith = (chosen: Readonly<Record<string, string>> | undefined) =>
    computeProgram(cell, host, files, chosen).settings['COMPUTE_IMAGE_URL']

  expect(urlWith(undefined)).toBe(files.imageUrl)
  expect(urlWith({ COMPUTE_IMAGE_URL: 'https://a/image,https://b/image' })).toBe(
    'https://a/image,https://b/image',
  )
  expect(() => urlWith({ COMPUTE_NATS_URL: 'nats://elsewhere' })).toThrow('sets COMPUTE_NATS_URL')
})
