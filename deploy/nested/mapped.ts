import { Failure } from '#common/errors.ts'

type Settings = Readonly<Record<string, string>>

/** The setting that pairs of each kind belong to. */
const SETTINGS = { flavor: 'flavors', image: 'images', network: 'mapped_networks' } as const

/** The settings with each `kind:ours=theirs` in the one that it belongs to. Throws `invalid` for what is not so written. */
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
