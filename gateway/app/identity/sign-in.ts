import { Failure } from '#common/errors.ts'

/** What somebody types who signs in at the page. */
export interface PasswordLogin {
  readonly name: string
  readonly password: string
  /** By name. */
  readonly domain: string
}

export interface GivenToken {
  readonly token: string
  readonly expiresAt: Date
  readonly hasProject: boolean
}

export interface NamedProject {
  readonly id: string
  readonly name: string
}

/**
 * The identity service of a deployment, as far as people sign in with it at the page: the one in here, or a Keystone.
 * Every method throws `unauthenticated` for a login or token that is not valid, and `unavailable` while that cannot be
 * found out or too many sign in.
 */
export interface SignIn {
  /** In no project, or, with `isScoped`, in the user's default project if that can be had. */
  byPassword(login: PasswordLogin, options: { readonly isScoped: boolean }): Promise<GivenToken>
  /** Those in which the user of the token has a role. */
  projectsOf(token: string): Promise<readonly NamedProject[]>
  /** A token of the same user. Throws `forbidden` where there is none for this project. */
  inProject(token: string, projectId: string): Promise<GivenToken>
  /** Afterwards the token is valid nowhere. */
  revoke(token: string): Promise<void>
}

/** A token in the project of this id or name; without one, in the default project, or else the first by name. */
export async function signInWithPassword(
  signIn: SignIn,
  login: PasswordLogin,
  project: string | undefined,
): Promise<GivenToken> {
  const given = await signIn.byPassword(login, { isScoped: project === undefined })
  if (project === undefined && given.hasProject) return given
  return changeProject(signIn, given.token, project)
}

/** A token like this one, in the project of this id or name; without one, in the first by name. */
export async function changeProject(
  signIn: SignIn,
  token: string,
  wanted: string | undefined,
): Promise<GivenToken> {
  const project = chosenOf(await signIn.projectsOf(token), wanted)
  return signIn.inProject(token, project.id)
}

function chosenOf(projects: readonly NamedProject[], wanted: string | undefined): NamedProject {
  const byName = projects.toSorted((a, b) => a.name.localeCompare(b.name))
  const byId = byName.find(({ id }) => id === wanted)
  const named = byName.filter(({ name }) => wanted === undefined || name === wanted)
  if (wanted !== undefined && byId === undefined && named.length > 1)
    throw new Failure(
      'invalid',
      `There are ${named.length} projects ${wanted}, in several domains. Give the id of one: ${named.map(({ id }) => id).join(', ')}.`,
    )
  const project = byId ?? named[0]
  if (project !== undefined) return project
  throw new Failure(
    'forbidden',
    wanted === undefined
      ? 'You have no role in any project: ask an administrator for one.'
      : `You have no role in project ${wanted}. Yours: ${byName.map(({ name }) => name).join(', ') || 'none'}.`,
  )
}
