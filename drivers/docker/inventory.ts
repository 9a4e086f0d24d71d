import type { HostInventory } from '../driver.ts'
import type { DockerHost } from './host.ts'
import { EXTRA_SPECS, IMAGE_PROPERTIES } from './images/heeded-properties.ts'

/** The part of the engine's machine that the host may use; an absent amount is the whole. */
export interface HostShare {
  readonly vcpus?: number | undefined
  readonly memoryMb?: number | undefined
  readonly diskGb?: number | undefined
  /** The hypervisor's name; absent: the name of the engine's machine. */
  readonly hostname?: string | undefined
}

/** Of what `GET /info` answers, what the driver reads. */
interface EngineInfo {
  readonly Name: string
  readonly NCPU: number
  readonly MemTotal: number
  readonly Architecture: string
  readonly ServerVersion: string
}

/** An engine does not tell the size of its disk, so a host that states none gives this much. */
const DISK_GB_DEFAULT = 100

/** The total resources of the host: its configured share, or the engine's machine. */
export async function inventory(
  { engine }: DockerHost,
  share: HostShare,
  signal: AbortSignal,
): Promise<HostInventory> {
  const info = await engine.call<EngineInfo>('GET', '/info', { signal })
  return {
    vcpus: share.vcpus ?? info.NCPU,
    memoryMb: share.memoryMb ?? Math.floor(info.MemTotal / 1024 ** 2),
    diskGb: share.diskGb ?? DISK_GB_DEFAULT,
    hypervisor: {
      type: 'docker',
      version: versionNumber(info.ServerVersion),
      hostname: share.hostname ?? info.Name,
    },
    architecture: info.Architecture,
    cpu: {
      vendor: '',
      model: '',
      features: [],
      topology: { sockets: 1, cores: info.NCPU, threads: 1 },
    },
    imageFormats: ['docker'],
    extraSpecs: EXTRA_SPECS,
    imageProperties: IMAGE_PROPERTIES,
    traits: ['COMPUTE_NODE', 'CUSTOM_IMAGE_TYPE_DOCKER'],
  }
}

/** major * 1000000 + minor * 1000 + micro, from a version such as `20.10.24+dfsg1`. */
function versionNumber(version: string): number {
  const [, major = 0, minor = 0, micro = 0] =
    /^(\d+)\.(\d+)\.(\d+)/.exec(version)?.map(Number) ?? []
  return major * 1_000_000 + minor * 1000 + micro
}
