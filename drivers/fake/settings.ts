import { hostname } from 'node:os'
import { EnvReader, SettingsError } from '#common/env.ts'
import { STORE_LACKS, type StoreLack } from '#openapi/wire/volume.ts'
import { METRIC_NAMES } from '../host-metrics.ts'
import { resourceAmounts } from '../resource-amounts.ts'
import { type Fault, parseFaults } from './faults.ts'

export interface FakeSettings {
  readonly vcpus: number
  readonly memoryMb: number
  readonly diskGb: number
  /** How many whole machines of each class, as large as the above says; empty: the host is one, and gives parts. */
  readonly machines: ReadonlyMap<string, number>
  /** Where NICs of its machines are in the site; absent: the site alone knows. */
  readonly machineSegments?: readonly string[] | undefined
  /** The amounts of further resource classes, such as `PCPU`. */
  readonly resources: ReadonlyMap<string, number>
  /** Among which the CPUs and the memory are shared evenly; 0: it says nothing of any. */
  readonly numaNodes: number
  /** How busy the machine is said to be, by Nova's names of metrics. */
  readonly metrics: ReadonlyMap<string, number>
  /** As the hypervisor reports it. */
  readonly hostname: string
  /**
   * A folder, the same for several fake hosts, in which they all have their volumes; absent: a host has a store of its
   * own, if it persists.
   */
  readonly volumeStore?: string | undefined
  readonly volumeStoreGb: number
  /** The name of its store. */
  readonly volumeStoreName: string
  /** What the engine of its store is said to be unable to do, and refuses. */
  readonly volumeStoreLacks?: readonly StoreLack[]
  /** Keep the guests in the state directory, so that they still "run" after a restart of the process. */
  readonly persist: boolean
  readonly faults: readonly Fault[]
  /** A file with a JSON list of faults, read again whenever it changes: how another process makes this host fail. */
  readonly faultsFile?: string | undefined
}

/** Settings from plain text; throws one error that names every problem. */
export function fakeSettings(settings: Readonly<Record<string, string>>): FakeSettings {
  const reader = new EnvReader(settings, '')
  const read: FakeSettings = {
    vcpus: reader.integer('vcpus', 64, 1),
    memoryMb: reader.integer('memory_mb', 262_144, 1),
    diskGb: reader.integer('disk_gb', 10_000, 1),
    machines: resourceAmounts('machines', reader.list('machines')),
    machineSegments: reader.optionalText('machine_segments')?.split(','),
    resources: resourceAmounts('resources', reader.list('resources')),
    numaNodes: reader.integer('numa_nodes', 0, 0, 64),
    metrics: metricsFrom(reader.list('metrics')),
    hostname: reader.text('hostname', hostname()),
    volumeStore: reader.optionalText('volume_store'),
    volumeStoreGb: reader.integer('volume_store_gb', 10_000, 1),
    volumeStoreName: reader.text('volume_store_name', 'fake'),
    volumeStoreLacks: lacksFrom(reader.list('volume_store_lacks')),
    persist: reader.boolean('persist', true),
    faults: parseFaults(reader.text('faults', '[]')),
    faultsFile: reader.optionalText('faults_file'),
  }
  reader.finish()
  return read
}

/** Throws an error that names the invalid one. */
function lacksFrom(names: readonly string[]): readonly StoreLack[] {
  return names.map((name) => {
    const lack = STORE_LACKS.find((each) => each === name)
    if (lack !== undefined) return lack
    throw new SettingsError([`volume_store_lacks: ${name} is not one of ${STORE_LACKS.join(', ')}`])
  })
}

/** Pairs such as `cpu.percent=20`. Throws an error that names the invalid pair. */
function metricsFrom(pairs: readonly string[]): ReadonlyMap<string, number> {
  return new Map(
    pairs.map((pair) => {
      const [name = '', value = ''] = pair.split('=')
      if (!METRIC_NAMES.includes(name) || !/^\d{1,15}(?:\.\d{1,6})?$/.test(value))
        throw new SettingsError([`metrics: ${pair} is not like cpu.percent=20`])
      return [name, Number(value)]
    }),
  )
}
