import { expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { configFromEnv } from './config.ts'

const configWith = (change: Readonly<Record<string, string>>) =>
  configFromEnv({
    CELL_ID: newId(),
    CELL_NAME: 'north',
    CELL_PROCESS: 'one',
    CELL_DATABASE_URL: 'mysql://127.0.0.1/north',
    CELL_SECRET_KEY: '0'.repeat(64),
    CELL_NATS_URL: 'nats://127.0.0.1',
    ...change,
  })

test('optional filters run only where an operator names them', () => {
  expect(configWith({}).filters).toContain('RamFilter')
  expect(configWith({}).filters).toContain('BackendInstancesFilter')
  expect(configWith({}).filters).not.toContain('NumInstancesFilter')
  const named = { CELL_SCHEDULING_FILTERS: 'ComputeFilter, NumInstancesFilter' }
  expect(configWith(named).filters).toEqual(['ComputeFilter', 'NumInstancesFilter'])
})

test('a host may have 50 instances, or the number of the setting, which is at least 1', () => {
  const maxWith = (value: string) =>
    configWith({ CELL_MAX_INSTANCES_PER_HOST: value }).filterSettings.maxInstancesPerHost

  expect(maxWith('')).toBe(50)
  expect(maxWith('1')).toBe(1)
  for (const value of ['0', '-1', '1.5', 'many'])
    expect(() => maxWith(value)).toThrow(`CELL_MAX_INSTANCES_PER_HOST: ${value} is not an integer`)
})

test('the namespace of image properties that keep servers on hosts ends with its separator', () => {
  const prefixOf = (namespace: string, separator = '') =>
    configWith({
      CELL_AGGREGATE_IMAGE_PROPERTIES_ISOLATION_NAMESPACE: namespace,
      CELL_AGGREGATE_IMAGE_PROPERTIES_ISOLATION_SEPARATOR: separator,
    }).filterSettings.imagePropertiesPrefix

  expect([prefixOf(''), prefixOf('os'), prefixOf('os', '_'), prefixOf('', '_')]).toEqual([
    '',
    'os.',
    'os_',
    '',
  ])
})

test('a weight for moves between cells is refused with the reason', () => {
  expect(() => configWith({ CELL_WEIGHT_CROSS_CELL_MOVE: '1' })).toThrow(
    'CELL_WEIGHT_CROSS_CELL_MOVE: a cell chooses among its own hosts alone',
  )
})

test('an image cache needs gateways to fetch from', () => {
  const folder = { CELL_IMAGE_CACHE_DIRECTORY: '/var/cache/weir' }
  expect(() => configWith(folder)).toThrow('CELL_IMAGE_URL is not set')
  expect(configWith({ ...folder, CELL_IMAGE_URL: 'http://a/image,http://b/image' })).toMatchObject({
    imageCache: {
      own: {
        directory: '/var/cache/weir',
        address: '127.0.0.1',
        port: 0,
        bytesMax: 50 * 2 ** 30,
        tls: undefined,
      },
      urls: [],
      gatewayUrls: ['http://a/image', 'http://b/image'],
    },
  })
  expect(configWith({}).imageCache.own).toBeUndefined()
  expect(() => configWith({ CELL_IMAGE_CACHE_TLS_CERTIFICATE_FILE: 'a.crt' })).toThrow(
    'CELL_IMAGE_CACHE_TLS_KEY_FILE is not set',
  )
  expect(() => configWith({ CELL_IMAGE_CACHE_URLS: 'here' })).toThrow('here is not an http(s) URL')
})

test('an ssl: address of OVN needs the files with which the cell authenticates itself', () => {
  const ovn = {
    CELL_OVN_NORTHBOUND: 'ssl:192.0.2.1:6641',
    CELL_OVN_SOUTHBOUND: 'ssl:192.0.2.1:6642',
  }
  expect(() => configWith(ovn)).toThrow(/CELL_OVN_CA_FILE[^]*CELL_OVN_KEY_FILE/)
})

test('the former name of a setting works, and the present one comes first', () => {
  expect(configWith({ CELL_HOST_SILENT_AFTER_MS: '700' }).hostDownAfterMs).toBe(700)
  const both = { CELL_HOST_SILENT_AFTER_MS: '700', CELL_HOST_DOWN_AFTER_MS: '900' }
  expect(configWith(both).hostDownAfterMs).toBe(900)
})

test('hosts are weighed by the metrics and image properties that an operator names', () => {
  const named = {
    CELL_METRICS_WEIGHT_SETTING: 'cpu.percent=-1.5, cpu.frequency=2',
    CELL_SCHEDULING_FILTERS: 'MetricsFilter',
  }
  const metricWeights = { 'cpu.percent': -1.5, 'cpu.frequency': 2 }

  expect(configWith({}).weigherSettings).toEqual({
    metricWeights: {},
    weightOfUnavailable: -10_000,
    imagePropertyWeights: {},
  })
  const image = { CELL_IMAGE_PROPS_WEIGHT_SETTING: 'os_distro=10,hw_machine_type=-0.5' }
  expect(configWith(image).weigherSettings).toMatchObject({
    imagePropertyWeights: { os_distro: 10, hw_machine_type: -0.5 },
  })
  expect(configWith({}).weights).toMatchObject({ metrics: 1, image_props: 0 })
  expect(configWith({ CELL_METRICS_WEIGHT_OF_UNAVAILABLE: '3' }).weigherSettings).toMatchObject({
    weightOfUnavailable: 3,
  })
  expect(configWith(named).weigherSettings).toMatchObject({ metricWeights })
  expect(configWith(named).filterSettings.metrics).toEqual(['cpu.percent', 'cpu.frequency'])
})

test.each(['cpu.percent', 'cpu.percent=', 'cpu.percent=1e3', '=1', 'cpu.percent=x1'])(
  'the setting of metrics refuses %j, which is no pair',
  (CELL_METRICS_WEIGHT_SETTING) => {
    expect(() => configWith({ CELL_METRICS_WEIGHT_SETTING })).toThrow(
      `${CELL_METRICS_WEIGHT_SETTING} is not a name and a number`,
    )
  },
)

test('metrics that no host reports, and required ones that no filter sees to, are refused', () => {
  const unknown = { CELL_METRICS_WEIGHT_SETTING: 'cpu.load=1' }
  const alone = { CELL_METRICS_WEIGHT_SETTING: 'cpu.percent=1' }

  expect(() => configWith(unknown)).toThrow("there is no metric 'cpu.load'; there are cpu.freq")
  expect(() => configWith(alone)).toThrow('name it in CELL_SCHEDULING_FILTERS')
  expect(configWith({ ...alone, CELL_METRICS_REQUIRED: 'false' }).filters).not.toContain(
    'MetricsFilter',
  )
})
