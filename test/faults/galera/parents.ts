import { randomUUID } from 'node:crypto'
import { systemClock } from '#common/clock.ts'
import type { Database } from '#common/db/database.ts'
import type { UserId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { secretsOf } from '#common/secrets.ts'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { createProject, removeProject } from '#gateway/app/identity/change-projects.ts'
import { createCredential } from '#gateway/app/identity/credentials.ts'
import { createDomain, removeDomain } from '#gateway/app/identity/domains.ts'
import { addGrant } from '#gateway/app/identity/grants.ts'
import { addMember, createGroup, removeGroup } from '#gateway/app/identity/groups.ts'
import { createIdentity, type Identity } from '#gateway/app/identity/identity.ts'
import { createRole, implyRole, removeRole } from '#gateway/app/identity/roles.ts'
import { createUser, removeUser } from '#gateway/app/identity/users.ts'
import { createSubnetPools, deleteSubnetPool } from '#gateway/app/networks/change-subnet-pools.ts'
import type { Networks } from '#gateway/app/networks/list-networks.ts'
import { createRouters, deleteRouter } from '#gateway/app/networks/routers/change-routers.ts'
import { addInterface } from '#gateway/app/networks/routers/interfaces.ts'
import type { Caller } from '#gateway/app/request-context.ts'
import { createNetwork, createSubnet, reportOvn } from '#test/env/network-objects.ts'

/** A parent is made on the first node; then it gets a child there while it is deleted on the second. */
export interface Race {
  readonly parent: () => Promise<string>
  readonly child: (parent: string) => Promise<unknown>
  readonly remove: (parent: string) => Promise<unknown>
  /** Finds children without their parents. */
  readonly orphans: string
}

/** By node: the first one, where children are made, and the second one. */
export interface NetworkNodes {
  readonly networks: readonly [Networks, Networks]
  readonly owner: { readonly projectId: string; readonly isAdmin: boolean }
}

const ADMIN: Caller = {
  userId: 'a'.repeat(32) as UserId,
  userName: 'admin',
  userDomainId: 'default',
  userDomainName: 'Default',
  projectId: null,
  projectName: null,
  projectDomainId: null,
  projectDomainName: null,
  domainId: null,
  domainName: null,
  isSystemScoped: true,
  roles: new Set(['admin', 'member', 'reader']),
  isAdmin: true,
  mayDelegate: true,
  applicationCredentialId: null,
  trustId: null,
  accessRules: null,
  isExternal: false,
  tokenId: '0'.repeat(64),
}
const NEW = { description: '', extra: {}, options: {}, immutable: false, tags: [] }

/** The same on both nodes. Disposing ends what follows revocations. */
export class IdentityNodes implements AsyncDisposable {
  readonly #nodes: readonly [Identity, Identity]

  private constructor(nodes: readonly [Identity, Identity]) {
    this.#nodes = nodes
  }

  static async begin(databases: readonly [Database, Database]): Promise<IdentityNodes> {
    await bootstrapIdentity(databases[0], { adminPassword: 'secret', demoPassword: 'secret' })
    const log = createLogger('identity', 'fatal')
    const lockout = { failuresMax: 0, windowMs: 0 }
    const on = (db: Database) =>
      createIdentity({ db, log, region: 'here', tokenLifetimeS: 60, lockout, clock: systemClock })
    return new IdentityNodes([on(databases[0]), on(databases[1])])
  }

  races(): Readonly<Record<string, Race>> {
    const [here, there] = this.#nodes
    const domain = async () =>
      (await createDomain(here, { ...NEW, name: randomUUID(), enabled: false })).id
    const project = async (parentId?: string) => {
      const asked = { ...NEW, name: randomUUID(), enabled: true, isDomain: false }
      return (await createProject(here, ADMIN, { ...asked, domainId: undefined, parentId })).id
    }
    const user = async (domainId: string) => {
      const asked = { ...NEW, name: randomUUID(), password: null, enabled: true, email: null }
      return (await createUser(here, ADMIN, { ...asked, defaultProjectId: null, domainId })).id
    }
    const removed = (id: string) => removeDomain(there, id)
    const group = async () => {
      const asked = { ...NEW, name: randomUUID(), domainId: 'default' }
      return (await createGroup(here, ADMIN, asked)).id
    }
    const secrets = secretsOf('0'.repeat(64))
    return {
      'a user of a domain': {
        parent: domain,
        child: user,
        remove: removed,
        orphans: 'select id from users where domain_id not in (select id from domains)',
      },
      'a group of a domain': {
        parent: domain,
        child: (domainId) => createGroup(here, ADMIN, { ...NEW, name: randomUUID(), domainId }),
        remove: removed,
        orphans: 'select id from user_groups where domain_id not in (select id from domains)',
      },
      'a project of a project': {
        parent: () => project('default'),
        child: (id) => project(id),
        remove: (id) => removeProject(there, ADMIN, id),
        orphans:
          'select id from projects where parent_id is not null and parent_id not in (select id from projects p)',
      },
      'a credential of a user': {
        parent: () => user('default'),
        child: (userId) =>
          createCredential({ identity: here, compute: { secrets } }, ADMIN, {
            userId,
            projectId: null,
            type: 'totp',
            blob: 'x',
          }),
        remove: (id) => removeUser(there, ADMIN, id),
        orphans: 'select id from credentials where user_id not in (select id from users)',
      },
      'a member of a group': {
        parent: group,
        child: async (id) => addMember(here, ADMIN, id, await user('default')),
        remove: (id) => removeGroup(there, ADMIN, id),
        orphans: 'select * from group_members where group_id not in (select id from user_groups)',
      },
      'a group of a user': {
        parent: () => user('default'),
        child: async (id) => addMember(here, ADMIN, await group(), id),
        remove: (id) => removeUser(there, ADMIN, id),
        orphans: 'select * from group_members where user_id not in (select id from users)',
      },
      ...roleRaces(this.#nodes, { user: () => user('default'), project: () => project('default') }),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.#nodes) await node[Symbol.asyncDispose]()
  }
}

interface Makers {
  readonly user: () => Promise<string>
  readonly project: () => Promise<string>
}

/** Of roles, which users have in projects and which imply each other. */
function roleRaces(
  [here, there]: readonly [Identity, Identity],
  { user, project }: Makers,
): Readonly<Record<string, Race>> {
  const role = async () => (await createRole(here, { ...NEW, name: randomUUID(), domainId: '' })).id
  const give = (roleId: string, actorId: string, targetId: string) => {
    const grant = { actorType: 'user', actorId, targetType: 'project', targetId } as const
    return addGrant(here, ADMIN, { ...grant, roleId, inherited: false }, 'identity:create_grant')
  }
  const given = (column: string, parents: string) =>
    `select * from role_assignments where target_type = 'project' and ${column} not in (select id from ${parents})`
  return {
    'a user of a role': {
      parent: role,
      child: async (id) => give(id, await user(), await project()),
      remove: (id) => removeRole(there, id),
      orphans: given('role_id', 'roles'),
    },
    'a role of a user': {
      parent: user,
      child: async (id) => give(await role(), id, await project()),
      remove: (id) => removeUser(there, ADMIN, id),
      orphans: `${given('actor_id', 'users')} and actor_type = 'user'`,
    },
    'a role in a project': {
      parent: project,
      child: async (id) => give(await role(), await user(), id),
      remove: (id) => removeProject(there, ADMIN, id),
      orphans: given('target_id', 'projects'),
    },
    'a role that another implies': {
      parent: role,
      child: async (id) => implyRole(here, await role(), id),
      remove: (id) => removeRole(there, id),
      orphans: 'select * from implied_roles where implied_role_id not in (select id from roles)',
    },
  }
}

/** Of subnet pools and routers. */
export function poolAndRouterRaces({
  networks,
  owner,
}: NetworkNodes): Readonly<Record<string, Race>> {
  const [here, there] = networks
  const network = async () => (await createNetwork(here, owner, { name: 'blue' })).id
  return {
    'a subnet of a subnet pool': {
      parent: async () => {
        const draft = { name: randomUUID(), prefixes: ['10.0.0.0/8'], default_prefixlen: 24 }
        return (await createSubnetPools(here, owner, [draft]))[0]!.id
      },
      child: async (id) =>
        createSubnet(here, owner, {
          network_id: await network(),
          subnetpool_id: id,
          ip_version: 4,
        }),
      remove: (id) => deleteSubnetPool(there, owner, id),
      orphans:
        'select id from subnets where subnetpool_id is not null and subnetpool_id not in (select id from subnet_pools)',
    },
    'an interface of a router': {
      parent: async () => {
        await reportOvn(here.db)
        return (await createRouters(here, owner, [{ name: 'r' }]))[0]!.id
      },
      child: async (id) => {
        const subnet = { network_id: await network(), ip_version: 4 as const, cidr: '10.2.0.0/24' }
        return addInterface(here, owner, id, {
          subnet_id: (await createSubnet(here, owner, subnet)).id,
        })
      },
      remove: (id) => deleteRouter(there, owner, id),
      orphans: `select id from ports where device_owner = 'network:router_interface' and device_id not in (select id from routers)`,
    },
  }
}
