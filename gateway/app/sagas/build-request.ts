import type { InjectedFile, InstanceBuild } from '#openapi/wire/instance.ts'
import type { RequestSpec } from '../../db/request-specs.ts'
import type { ComputeDeps } from '../compute.ts'

/** The parts of a request that are stored sealed. */
export type SealedPart = 'user-data' | 'files' | 'password'

/** Binds sealed secrets to their server, so that one server's cannot be put into another's row. */
export function sealingPurpose(serverId: string, what: SealedPart): string {
  return `${what} of ${serverId}`
}

/** All that one cell needs to build the server: the spec, its secrets opened, and tickets for what its hosts read. */
export function buildRequest(
  deps: Pick<ComputeDeps, 'secrets' | 'imageTicket'>,
  { serverId, spec, sealedUserData, sealedFiles, sealedPassword }: RequestSpec,
  cellId: string,
): InstanceBuild {
  const open = (sealed: string | null, what: SealedPart) =>
    sealed === null ? null : deps.secrets.open(sealed, sealingPurpose(serverId, what))
  const files = open(sealedFiles, 'files')
  const { policyHint: _hint, savedDisk: _savedDisk, rebuiltAt: _rebuilt, ...build } = spec
  const { kernel, ramdisk, changes, ...image } = spec.image
  const readable = <F extends { readonly id: string }>(file: F) => ({
    ...file,
    ticket: deps.imageTicket(file.id, cellId),
  })
  return {
    ...build,
    image: {
      ...readable(image),
      ...(kernel && { kernel: readable(kernel) }),
      ...(ramdisk && { ramdisk: readable(ramdisk) }),
      ...(changes && { changes: readable(changes) }),
    },
    userData: open(sealedUserData, 'user-data'),
    ...(files === null ? {} : { files: JSON.parse(files) as InjectedFile[] }),
    adminPassword: open(sealedPassword, 'password'),
  }
}
