import { Agent, request } from 'undici'
import { Failure } from '#common/errors.ts'
import { withoutTrailing } from '#common/without-trailing.ts'
import { readJoinToken } from '#gateway/app/federation/join-token.ts'
import { pinnedCertificate } from '../join/pinned-certificate.ts'
import { ADMISSION_PATH, type AdmissionAnswer } from './admit.ts'
import { type ControlPlane, FILES, type Folders, loadControlPlane } from './control-plane.ts'
import { keepMachineFiles } from './machine-files.ts'
import { assertOwnAddress } from './own-address.ts'
import { OwnFiles } from './own-files.ts'
import { SHARED_FILES, SOMETIMES_SHARED } from './shared-files.ts'

const CALL_LIMIT_MS = 15_000
const NAMES: ReadonlySet<string> = new Set([...SHARED_FILES, ...SOMETIMES_SHARED])

export interface JoinOptions {
  /** The URL that `./weir gateway admit` prints. */
  readonly from: string
  readonly token: string
}

/**
 * Afterwards this machine has all that the services of the control plane are started with. The secrets come from the
 * machine that made the token, which is recognized by its certificate before anything is sent. Throws `conflict` where
 * the folder has a control plane already.
 */
export async function joinControlPlane(
  folders: Folders,
  { from, token }: JoinOptions,
  report: (line: string) => void,
): Promise<ControlPlane> {
  if (loadControlPlane(folders) !== undefined)
    throw new Failure(
      'conflict',
      `${folders.directory} is the directory of a machine of a control plane already. To join another one, name other directories with --directory and --state-directory.`,
    )
  const files = new OwnFiles(folders, report)
  const { place, files: given } = await fetchSecrets(withoutTrailing(from, '/'), token)
  const plane = JSON.parse(given[FILES.plane] ?? '{}') as ControlPlane
  const own = plane.machines?.[place]
  if (own === undefined)
    throw new Failure('unavailable', `${from} has not answered as ./weir gateway admit does.`)
  await assertOwnAddress(own)
  for (const [name, content] of Object.entries(given))
    if (NAMES.has(name) && (name !== FILES.databaseUrl || !plane.hasDatabases))
      await files.settings(name, () => content)
  await keepMachineFiles(files, { plane, folders, place, isFirst: false })
  return plane
}

/** What a machine that waits gives for the token. Throws `unauthenticated` and `unavailable`. */
export async function fetchSecrets(from: string, token: string): Promise<AdmissionAnswer> {
  const { secret, pin } = readJoinToken(token)
  const url = URL.parse(from)
  if (url?.protocol !== 'https:' || pin === undefined)
    throw new Failure(
      'invalid',
      'Give the URL and the token that ./weir gateway admit prints on another machine of the control plane.',
    )
  const ca = await pinnedCertificate(url, pin)
  const limits = { headersTimeout: CALL_LIMIT_MS, bodyTimeout: CALL_LIMIT_MS }
  const dispatcher = new Agent({ ...limits, connect: { ca, timeout: CALL_LIMIT_MS } })
  try {
    const { statusCode, body } = await request(`${from}${ADMISSION_PATH}`, {
      dispatcher,
      method: 'POST',
      body: secret,
    })
    if (statusCode === 200) return (await body.json()) as AdmissionAnswer
    throw new Failure(
      'unauthenticated',
      `${from} does not accept this token. Use the one that it prints now.`,
    )
  } catch (cause) {
    if (cause instanceof Failure) throw cause
    throw new Failure('unavailable', `${from} does not answer.`, { cause })
  } finally {
    await dispatcher.destroy()
  }
}
