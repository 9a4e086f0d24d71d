import { Failure } from '#common/errors.ts'

/** Where a host's part of OVN is, for drivers that plug NICs into it. */
export interface OvnHostSettings {
  /** The database of Open vSwitch, `unix:PATH`; absent: where Debian has it. */
  readonly ovsDatabase?: string | undefined
  /** The network namespace of its switch, as a file; absent: that of this process. */
  readonly networkNamespace?: string | undefined
}

/** Throws `invalid` for a setting that only OVN would use, named in `names`, on a host without OVN. */
export function refuseOvnSettings(
  network: 'host' | 'ovn' | undefined,
  settings: Readonly<Record<string, string | undefined>>,
): void {
  const given = Object.entries(settings).flatMap(([name, value]) =>
    value === undefined ? [] : name,
  )
  if (network === 'ovn' || given.length === 0) return
  const [verb, object] = given.length === 1 ? ['has', 'it'] : ['have', 'them']
  throw new Failure(
    'invalid',
    `${given.join(', ')} ${verb} an effect with network=ovn only. Set network=ovn, or remove ${object}.`,
  )
}
