import type { CloudLogin } from './cloud-login.ts'

/** The body of Keystone's `POST /v3/auth/tokens`: a token of one project. */
export function tokenRequest(login: CloudLogin): object {
  if (login.kind === 'application-credential') {
    const { id, secret } = login
    const methods = ['application_credential']
    return { auth: { identity: { methods, application_credential: { id, secret } } } }
  }
  const user = {
    name: login.user,
    password: login.password,
    domain: domain(login.userDomain),
  }
  const identity = { methods: ['password'], password: { user } }
  const project = { name: login.project, domain: domain(login.projectDomain) }
  return { auth: { identity, scope: { project } } }
}

/** Keystone's first domain has an id unlike its name, and is given by either. */
function domain(named: string): object {
  return named === 'default' ? { id: named } : { name: named }
}
