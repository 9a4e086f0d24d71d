import { isDeepStrictEqual } from 'node:util'
import { findWriter } from '#common/db/cluster-nodes.ts'
import { databaseUrls, joinDatabaseUrls } from '#common/db/database-url.ts'
import { Failure } from '#common/errors.ts'
import { changedSettings } from '../deployment/program-settings.ts'
import { databaseUser } from '../mariadb/database-user.ts'
import {
  assertMachines,
  type ControlPlane,
  FILES,
  type Folders,
  loadControlPlane,
} from './control-plane.ts'
import { keepMachineFiles } from './machine-files.ts'
import { assertOwnAddress } from './own-address.ts'
import { OwnFiles } from './own-files.ts'
import { keepSharedFiles, readSecret } from './shared-files.ts'

const WRITER_WAIT_MS = 5_000

export interface InitOptions {
  /** Of all machines, this one first. */
  readonly machines: readonly string[]
  /** Where clients reach the proxies; absent: at this machine. */
  readonly endpoint?: string | undefined
  /** Root's, of databases elsewhere; absent: they are on the machines. */
  readonly databaseRootUrl?: string | undefined
  /** `GATEWAY_…=VALUE` each. */
  readonly set: readonly string[]
}

/**
 * Afterwards this machine has all that the services of a control plane are started with, and nothing was started. Files
 * that are there stay as they are. Throws `conflict` where the folder has a control plane of another shape.
 */
export async function initControlPlane(
  folders: Folders,
  options: InitOptions,
  report: (line: string) => void,
): Promise<ControlPlane> {
  const { machines } = options
  assertMachines(machines)
  await assertOwnAddress(machines[0]!)
  const wanted: ControlPlane = {
    machines,
    endpoint: options.endpoint ?? machines[0]!,
    settings: await gatewaySettings(options.set),
    hasDatabases: options.databaseRootUrl === undefined,
  }
  const known = loadControlPlane(folders)
  if (known !== undefined && !isDeepStrictEqual(known, wanted))
    throw new Failure(
      'conflict',
      `${folders.directory} has another control plane: ${JSON.stringify(known)}. To make a new one, name another directory with --directory and --state-directory.`,
    )
  const files = new OwnFiles(folders, report)
  await keepSharedFiles(files, wanted, folders)
  if (options.databaseRootUrl !== undefined)
    await keepAccount(files, folders, options.databaseRootUrl, report)
  await keepMachineFiles(files, { plane: wanted, folders, place: 0, isFirst: true })
  if (!files.hasUser)
    report('note  There is no user weir, or this is not root: only this user can read the files.')
  return wanted
}

/** Afterwards the databases elsewhere have the gateways' account, which may do everything in the database `weir`. */
async function keepAccount(
  files: OwnFiles,
  { directory }: Folders,
  rootUrl: string,
  report: (line: string) => void,
): Promise<void> {
  const password = readSecret(directory, 'database.password')
  const urls = databaseUrls(rootUrl)
  await databaseUser(await findWriter(urls, WRITER_WAIT_MS), 'weir', password, {
    host: '%',
    mayRestore: true,
  })
  report("made  the databases' account weir")
  const [first, ...others] = urls.map((each) => {
    const url = new URL(each)
    url.username = 'weir'
    url.password = password
    url.pathname = 'weir'
    return url.href
  })
  await files.settings(FILES.databaseUrl, () => joinDatabaseUrls([first!, ...others]))
}

/** Throws `invalid` for a setting that gateways do not have, or do not accept. */
async function gatewaySettings(set: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const foreign = set.find((each) => !each.startsWith('GATEWAY_'))
  if (foreign !== undefined)
    throw new Failure(
      'invalid',
      `--set ${foreign}: only settings of gateways, GATEWAY_…, are set here.`,
    )
  return changedSettings({}, set)
}
