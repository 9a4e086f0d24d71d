import type { FlavorSpec, InstanceSpec, NicSpec, Owner } from '../../driver.ts'
import { labelsOf } from '../names.ts'

export interface ContainerPlan {
  readonly spec: InstanceSpec
  readonly owner: Owner
  /** The engine's id of the image. */
  readonly imageId: string
  /** The command of the guest, if neither image nor engine has one. */
  readonly command: readonly string[] | undefined
  /** The engine's name of the first NIC's network, and the connection of the NIC. */
  readonly network: { readonly name: string; readonly endpoint: object } | undefined
  readonly configVolume: string | undefined
  readonly ephemeralVolume: string | undefined
  readonly limitsDisk: boolean
  /** Where the image wants volumes of its own. */
  readonly declaredVolumes: readonly string[]
}

/** Where a guest finds its config drive, and its second disk. */
export const CONFIG_PATH = '/config-drive'
export const EPHEMERAL_PATH = '/mnt'

const MIB = 1024 ** 2
const NANOS = 1e9
/** Enough for a busy guest, and short of what one fork bomb needs to take the machine. */
const PIDS_MAX = 4096
/** Of the kernel (HOST_NAME_MAX): the engine starts no container with a longer one. */
const HOSTNAME_MAX = 64
/** The engine keeps this much of what a guest says. */
const LOG = { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '2' } } as const

/**
 * The body of `POST /containers/create`. The guest gets a terminal, as a machine has a serial console, and is never
 * started again by the engine itself: whether a server runs is decided in its cell.
 */
export function containerBody(plan: ContainerPlan): object {
  const { spec, owner, imageId, command, network } = plan
  const [nic] = spec.nics
  return {
    Image: imageId,
    Hostname: spec.hostname.slice(0, HOSTNAME_MAX),
    Tty: true,
    OpenStdin: true,
    Labels: labelsOf(owner, spec.id),
    ...(command === undefined ? {} : { Cmd: command }),
    // Until API 1.44 here, since then at the endpoint: each engine ignores the other.
    ...(nic === undefined ? {} : { MacAddress: nic.macAddress }),
    HostConfig: {
      ...limits(spec.flavor, plan.limitsDisk),
      NetworkMode: network?.name ?? 'none',
      Dns: [...new Set(spec.nics.flatMap(dnsServers))],
      RestartPolicy: { Name: 'no' },
      LogConfig: LOG,
      Mounts: mounts(plan),
    },
    ...(network === undefined
      ? {}
      : { NetworkingConfig: { EndpointsConfig: { [network.name]: network.endpoint } } }),
  }
}

/** Also the body of `POST /containers/{id}/update`, but for the disk. */
export function limits(flavor: FlavorSpec, limitsDisk: boolean): object {
  return {
    NanoCpus: flavor.vcpus * NANOS,
    Memory: flavor.memoryMb * MIB,
    MemorySwap: (flavor.memoryMb + flavor.swapMb) * MIB,
    PidsLimit: PIDS_MAX,
    ...(limitsDisk && flavor.rootGb > 0 ? { StorageOpt: { size: `${flavor.rootGb}G` } } : {}),
  }
}

function dnsServers(nic: NicSpec): readonly string[] {
  return nic.fixedIps.flatMap(({ dnsServers: servers }) => servers)
}

function mounts({ configVolume, ephemeralVolume }: ContainerPlan): readonly object[] {
  const volume = (Source: string, Target: string) => ({ Type: 'volume', Source, Target })
  return [
    ...(configVolume === undefined ? [] : [volume(configVolume, CONFIG_PATH)]),
    ...(ephemeralVolume === undefined ? [] : [volume(ephemeralVolume, EPHEMERAL_PATH)]),
  ]
}
