import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import { callApi, type Session } from '../api/session.ts'

type Settings = Readonly<Record<string, string>>

/** The setting that pairs of each kind belong to. */
const SETTINGS = { flavor: 'flavors', image: 'images', network: 'mapped_networks' } as const

/** Ours that a host knows by their ids alone, by the setting that maps them: what one is called, and where they are listed. */
const BY_ID = {
  images: { one: 'image', many: 'images', path: '/image/v2/images' },
  mapped_networks: { one: 'network', many: 'networks', path: '/networking/v2.0/networks' },
} as const
/** At most so many candidates are named. */
const NAMES_MAX = 10

interface Named {
  readonly id: string
  readonly name: string | null
}

/** The settings with each `kind:ours=theirs` in the setting it belongs to. Throws `invalid` for malformed pairs. */
export function mapped(settings: Settings, pairs: readonly string[]): Settings {
  const changed: Record<string, string> = { ...settings }
  for (const pair of pairs) {
    const [, kind = '', names = ''] = /^(flavor|image|network):([^=,]+=[^=,]+)$/.exec(pair) ?? []
    if (names === '')
      throw new Failure(
        'invalid',
        `--map ${pair} is not like flavor:OURS=THEIRS, image:OURS=THEIRS or network:OURS=THEIRS.`,
      )
    const setting = SETTINGS[kind as keyof typeof SETTINGS]
    const before = changed[setting]
    changed[setting] = before === undefined ? names : `${before},${names}`
  }
  return changed
}

/**
 * The settings with every image and network of ours that they map by its id, whether named by id or name. Throws `invalid`
 * for one that is not here, with some that are, and for a name that several have.
 */
export async function withOurIds(admin: Session, settings: Settings): Promise<Settings> {
  const changed: Record<string, string> = { ...settings }
  for (const setting of Object.keys(BY_ID) as (keyof typeof BY_ID)[]) {
    const pairs = settings[setting]?.split(',') ?? []
    const named: string[] = []
    for (const pair of pairs) {
      const [ours = '', theirs = ''] = pair.split('=').map((name) => name.trim())
      named.push(`${await ourId(admin, BY_ID[setting], ours)}=${theirs}`)
    }
    if (named.length > 0) changed[setting] = named.join(',')
  }
  return changed
}

async function ourId(
  admin: Session,
  { one, many, path }: (typeof BY_ID)[keyof typeof BY_ID],
  ours: string,
): Promise<string> {
  const list = async (query: Readonly<Record<string, string>>) => {
    const asked = {
      method: 'GET',
      path: `${path}?${new URLSearchParams(query).toString()}`,
    } as const
    return (await callApi<Record<string, readonly Named[]>>(admin, asked))[many] ?? []
  }
  const [byId] = isUuid(ours) ? await list({ id: ours }) : []
  if (byId !== undefined) return byId.id
  const [found, second] = await list({ name: ours })
  if (second !== undefined)
    throw new Failure(
      'invalid',
      `There are several ${many} called ${ours} here: name one by its id, such as ${found!.id}.`,
    )
  if (found !== undefined) return found.id
  const some = (await list({ limit: String(NAMES_MAX) })).map(({ id, name }) => name ?? id)
  throw new Failure(
    'invalid',
    `There is no ${one} ${ours} here to map. There are: ${some.join(', ') || 'none'}.`,
  )
}
