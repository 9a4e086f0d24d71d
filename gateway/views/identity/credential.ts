import type {
  Credential as CredentialBody,
  Ec2Credential as Ec2CredentialBody,
} from '#openapi/identity.gen.ts'
import type { Credential } from '../../app/identity/credentials.ts'
import type { Ec2Credential } from '../../app/identity/ec2-credentials.ts'
import type { Links } from '../../http/links.ts'

export function credentialView(credential: Credential, links: Links): CredentialBody {
  const { id, userId, projectId, type, blob } = credential
  const self = links.to(`/identity/v3/credentials/${id}`)
  return { id, user_id: userId, project_id: projectId, type, blob, links: { self } }
}

export function ec2CredentialView(credential: Ec2Credential, links: Links): Ec2CredentialBody {
  const { userId, projectId, access, secret } = credential
  const self = links.to(`/identity/v3/users/${userId}/credentials/OS-EC2/${access}`)
  return {
    user_id: userId,
    tenant_id: projectId,
    access,
    secret,
    trust_id: null,
    links: { self },
  }
}
