import type { InjectedFile } from '#openapi/wire/instance.ts'
import type { RequestedNetworks } from '../../networks/nic-request.ts'

/** A block device as asked for, as far as it can be told whether it is the image's own disk. */
export interface RequestedDisk {
  readonly sourceType: string | undefined
  readonly destinationType: string | undefined
  /** Of the image, volume or snapshot it is made from. */
  readonly sourceId: string | undefined
  readonly bootIndex: number | null | undefined
  readonly guestFormat: string | undefined
  /** GiB; MiB where the guest format is swap. */
  readonly size: number | undefined
}

/** What a client asks for, checked against the document and not yet against anything that exists. */
export interface ServerRequest {
  readonly name: string
  readonly flavorRef: string
  /** Null: none, or ''. */
  readonly imageRef: string | null
  readonly metadata: Readonly<Record<string, string>>
  readonly networks: RequestedNetworks
  /** Names or ids. */
  readonly securityGroups: readonly string[]
  readonly keyName: string | null
  /** Base64, as sent. */
  readonly userData: string | null
  /** Null: one is made. */
  readonly adminPassword: string | null
  readonly configDrive: boolean
  /** `zone`, or `zone:host` from an administrator. */
  readonly availabilityZone: string | null
  /** Hosts an administrator insists on, by name. */
  readonly host: string | null
  readonly hypervisorHostname: string | null
  readonly hostname: string | null
  readonly description: string | null
  readonly tags: readonly string[]
  readonly diskConfig: 'AUTO' | 'MANUAL'
  readonly accessIPv4: string | null
  readonly accessIPv6: string | null
  readonly minCount: number
  readonly maxCount: number
  readonly disks: readonly RequestedDisk[]
  /** Files to be put into the guest before it starts. */
  readonly files: readonly InjectedFile[]
  /** Ids of certificates that a signature of the image may be checked with; null: none are named. */
  readonly trustedCertificates: readonly string[] | null
  readonly hints: Readonly<Record<string, unknown>>
}
