import { expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { configFromEnv } from './config.ts'

const least = {
  COMPUTE_CELL_ID: newId(),
  COMPUTE_HOST_ID: newId(),
  COMPUTE_HOST_NAME: 'one',
  COMPUTE_NATS_URL: 'nats://127.0.0.1:4222',
  COMPUTE_IMAGE_URL: 'http://127.0.0.1:8774/image',
  COMPUTE_STATE_DIRECTORY: '/var/lib/weir',
  COMPUTE_DRIVER: 'fake',
}
const metricsOf = (settings: Readonly<Record<string, string>>) =>
  configFromEnv({ ...least, ...settings }).metrics

test('metrics are served where a port says so, on the machine alone unless an address and a token are given', () => {
  expect(metricsOf({})).toBeUndefined()
  expect(metricsOf({ COMPUTE_METRICS_PORT: '9100' })).toEqual({
    port: 9100,
    address: '127.0.0.1',
    token: undefined,
  })
  const elsewhere = { COMPUTE_METRICS_PORT: '0', COMPUTE_METRICS_ADDRESS: '0.0.0.0' }
  expect(() => metricsOf(elsewhere)).toThrow('COMPUTE_METRICS_TOKEN is not set')
  expect(metricsOf({ ...elsewhere, COMPUTE_METRICS_TOKEN: 'long' })).toMatchObject({
    address: '0.0.0.0',
    token: 'long',
  })
  expect(() => metricsOf({ COMPUTE_METRICS_PORT: '65536' })).toThrow('65536 is not an integer')
})

test('images are fetched from the gateways in the list, each of which is a URL', () => {
  const urlsOf = (text: string) => configFromEnv({ ...least, COMPUTE_IMAGE_URL: text }).imageUrls

  expect(urlsOf('http://a:1/image, https://b/image')).toEqual([
    'http://a:1/image',
    'https://b/image',
  ])
  expect(() => urlsOf('http://a:1/image,b')).toThrow('COMPUTE_IMAGE_URL: b is not an http(s) URL')
  expect(() => urlsOf('')).toThrow('COMPUTE_IMAGE_URL is not set')
})

test('a host keeps a part for itself and has ratios of its own where its settings say so', () => {
  const offerOf = (settings: Readonly<Record<string, string>>) =>
    configFromEnv({ ...least, ...settings }).offer

  expect(offerOf({})).toEqual({})
  expect(
    offerOf({ COMPUTE_RESERVED_MEMORY_MB: '512', COMPUTE_CPU_ALLOCATION_RATIO: '2.5' }),
  ).toEqual({
    reserved: { vcpus: 0, memoryMb: 512, diskGb: 0 },
    ratios: { vcpus: 2.5 },
  })
  expect(offerOf({ COMPUTE_ENABLE_NUMA_REPORTING_TO_PLACEMENT: 'true' })).toEqual({
    hasNumaProviders: true,
  })
  expect(offerOf({ COMPUTE_RESERVED_VCPUS: '0', COMPUTE_RAM_ALLOCATION_RATIO: '0.0' })).toEqual({})
  expect(() => offerOf({ COMPUTE_RESERVED_VCPUS: '-1' })).toThrow('-1 is not an integer')
  expect(() => offerOf({ COMPUTE_DISK_ALLOCATION_RATIO: '-1' })).toThrow('-1 is not a number')
})

test('where they would have no effect they are refused', () => {
  const refusal = (driver: string, settings: Readonly<Record<string, string>>) => () =>
    configFromEnv({ ...least, COMPUTE_DRIVER: driver, ...settings })
  const reserved = { COMPUTE_RESERVED_DISK_GB: '1' }
  const ratio = { COMPUTE_RAM_ALLOCATION_RATIO: '2' }

  for (const driver of ['baremetal', 'ironic']) {
    expect(refusal(driver, reserved)).toThrow('no effect on whole machines')
    expect(refusal(driver, ratio)).toThrow(`no effect with the driver ${driver}`)
  }
  expect(refusal('nested', ratio)).toThrow('no effect with the driver nested')
  expect(refusal('nested', reserved)).not.toThrow()
  const numa = { COMPUTE_ENABLE_NUMA_REPORTING_TO_PLACEMENT: 'true' }
  for (const driver of ['baremetal', 'docker', 'ironic', 'nested'])
    expect(refusal(driver, numa)).toThrow(`the driver ${driver}, whose hosts report no NUMA nodes`)
  for (const driver of ['fake', 'libvirt']) expect(refusal(driver, numa)).not.toThrow()
})
