import { request } from 'undici'
import type { Secrets } from '#common/secrets.ts'
import { checked } from '#openapi/wire/checked.ts'
import { SiteAnnouncement } from '#openapi/wire/site.ts'
import type { Site, Successor } from '../../db/sites.ts'
import { provenPromotion } from './announcement.ts'

/** Where gateways tell which site is active. */
export const SITE_PATH = '/site'
const ASK_LIMIT_MS = 1_000

/** The latest promotion of which the gateways of these sites know; undefined where none answers. */
export async function latestPromotion(
  secrets: Secrets,
  sites: readonly Pick<Site, 'url'>[],
): Promise<Successor | undefined> {
  const answers = await Promise.all(
    sites.map(({ url }) => promotionKnownAt(secrets, url).catch(() => undefined)),
  )
  return answers
    .filter((each) => each !== undefined)
    .toSorted((a, b) => b.generation - a.generation)[0]
}

async function promotionKnownAt(secrets: Secrets, url: string): Promise<Successor | undefined> {
  const { statusCode, body } = await request(`${url}${SITE_PATH}`, {
    signal: AbortSignal.timeout(ASK_LIMIT_MS),
  })
  const said = (await body.json()) as { readonly announcement?: unknown } | null
  if (statusCode !== 200 || said?.announcement === undefined) return undefined
  return provenPromotion(secrets, checked(SiteAnnouncement, said.announcement, 'site'))
}
