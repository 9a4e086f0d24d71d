/**
 * The paths of `PUT` requests that do something again, or are refused, when they are repeated: they attach, swap or begin
 * something, or change a provider of the generation that their client has read. Others state what is to be, and may be
 * repeated. Its source is an expression of POSIX, too.
 */
export const PUT_ACTS =
  /\/(add|remove)_router_interface\/?$|\/os-volume_attachments\/[^/]+\/?$|\/images\/[^/]+\/(file|stage)\/?$|\/resource_providers\/[^/]+\/(traits|inventories(\/[^/]+)?)\/?$/
