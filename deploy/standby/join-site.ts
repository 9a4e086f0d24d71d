import { Failure } from '#common/errors.ts'
import { withoutTrailing } from '#common/without-trailing.ts'
import {
  type ControlPlane,
  FILES,
  type Folders,
  loadControlPlane,
} from '../control-plane/control-plane.ts'
import { fetchSecrets, type JoinOptions } from '../control-plane/join.ts'
import { keepMachineFiles } from '../control-plane/machine-files.ts'
import { assertOwnAddress } from '../control-plane/own-address.ts'
import { OwnFiles } from '../control-plane/own-files.ts'
import { keepSharedFiles, SHARED_FILES, SOMETIMES_SHARED } from '../control-plane/shared-files.ts'

const NAMES: ReadonlySet<string> = new Set([...SHARED_FILES, ...SOMETIMES_SHARED])

/**
 * Afterwards this machine is the first one of a second site: it has the secrets that the sites have in common, a
 * certificate that the first site has signed, and all that its services are started with. Throws `conflict` where the
 * folder has a control plane already.
 */
export async function joinAsSite(
  folders: Folders,
  { from, token }: JoinOptions,
  report: (line: string) => void,
): Promise<ControlPlane> {
  if (loadControlPlane(folders) !== undefined)
    throw new Failure(
      'conflict',
      `${folders.directory} has a control plane already. A second site begins on a machine without one.`,
    )
  const { files: given } = await fetchSecrets(withoutTrailing(from, '/'), token)
  const plane = JSON.parse(given[FILES.plane] ?? '{}') as ControlPlane
  const own = plane.machines?.[0]
  if (own === undefined || given[FILES.site] === undefined)
    throw new Failure('unavailable', `${from} has not answered as ./weir standby admit does.`)
  await assertOwnAddress(own)
  const files = new OwnFiles(folders, report)
  for (const [name, content] of Object.entries(given))
    if (NAMES.has(name)) await files.settings(name, () => content)
  await keepSharedFiles(files, plane, folders)
  await keepMachineFiles(files, { plane, folders, place: 0, isFirst: true })
  return plane
}
