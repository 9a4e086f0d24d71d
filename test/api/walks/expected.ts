/** What valid requests are answered whose answer is not the usual one, and why. */
const ANSWERS: readonly (readonly [status: number, why: string, ids: string])[] = [
  [200, 'any class has quotas', 'compute updateQuotaClassSet'],
  [200, 'any project has quotas', 'network updateQuota'],
  [202, 'what was set for it is forgotten, of any project', 'compute deleteQuotaSet'],
  [204, 'the project had none', 'network deleteAutoAllocatedTopology'],
  [204, 'it had quotas by then', 'network deleteQuota'],
  [
    400,
    'the id of an aggregate is a number',
    'compute updateAggregate, compute deleteAggregate, compute addAggregateHost, compute removeAggregateHost, compute setAggregateMetadata, compute cacheAggregateImages',
  ],
  [400, 'a reason without disabling', 'compute updateService'],
  [400, 'no project has this id, and Nova checks that', 'compute updateQuotaSet'],
  [400, 'without the token that is meant', 'identity showToken, identity revokeToken'],
  [400, 'without the user it is of', 'identity createCredential'],
  [400, 'no such way to import', 'image importImage'],
  [400, 'the id of another region', 'identity putRegion'],
  [
    400,
    'without a parameter that must be there',
    'placement listAllocationCandidates, placement listUsages, federation explainNetworkPath',
  ],
  [400, 'of a project and of a domain', 'identity createLimits'],
  [400, 'no zone has this name', 'federation explainPlacement'],
  [400, 'a text of the form of a key, and none', 'federation join'],
  [
    401,
    'no such way to log in, and not the old password',
    'identity createToken, identity changePassword, identity createEc2Token, identity createS3Token',
  ],
  [401, 'only with a ticket', 'image downloadImageWithTicket, image uploadImageWithTicket'],
  [403, 'for oneself only', 'identity createApplicationCredential, identity createTrust'],
  [
    404,
    'nothing moves, and no console is open',
    'compute showServerMigration, compute showConsoleToken',
  ],
  [404, 'there is no task', 'image showTask'],
  [404, 'nothing goes on', 'federation showOperation, federation continueOperation'],
  [400, 'an address that is not public', 'federation createWebhook'],
  [404, 'every event was delivered', 'federation redeliverDeadLetter'],
  [400, 'a text that is no prefix', 'network createSubnetPool'],
  [401, 'a text that is no credential', 'federation renewCredential'],
  [404, 'every guest is somebody’s', 'federation adoptGuest'],
  [404, 'a host joins a cell that is there', 'federation createJoinToken'],
  [404, 'a resource class and no trait', 'placement checkTrait'],
  [409, 'there is no default external network', 'network showAutoAllocatedTopology'],
  [409, 'there is one of this name', 'image createMetadefNamespace'],
  [501, 'a driver without it', 'compute startHostUp, compute shutHostDown, compute rebootHost'],
  [
    501,
    'a driver without it',
    'federation listNodes, federation showNode, federation listNodeSensors',
  ],
]

/** By operation. */
export const EXPECTED: ReadonlyMap<string, number> = new Map(
  ANSWERS.flatMap(([status, , ids]) => ids.split(', ').map((id): [string, number] => [id, status])),
)
