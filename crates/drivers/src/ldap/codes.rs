//! Names of LDAP result codes (RFC 4511, appendix A, and other RFCs that define codes).

/// Result code of an operation that succeeded.
pub(crate) const SUCCESS: u32 = 0;
/// A search found more entries than the size limit of the search.
pub(crate) const SIZE_LIMIT_EXCEEDED: u32 = 4;
/// Result of a compare request: the attribute does not have the value.
pub(crate) const COMPARE_FALSE: u32 = 5;
/// Result of a compare request: the attribute has the value.
pub(crate) const COMPARE_TRUE: u32 = 6;

const NAMES: [(u32, &str); 44] = [
    (0, "success"),
    (1, "operationsError"),
    (2, "protocolError"),
    (3, "timeLimitExceeded"),
    (4, "sizeLimitExceeded"),
    (5, "compareFalse"),
    (6, "compareTrue"),
    (7, "authMethodNotSupported"),
    (8, "strongerAuthRequired"),
    (10, "referral"),
    (11, "adminLimitExceeded"),
    (12, "unavailableCriticalExtension"),
    (13, "confidentialityRequired"),
    (14, "saslBindInProgress"),
    (16, "noSuchAttribute"),
    (17, "undefinedAttributeType"),
    (18, "inappropriateMatching"),
    (19, "constraintViolation"),
    (20, "attributeOrValueExists"),
    (21, "invalidAttributeSyntax"),
    (32, "noSuchObject"),
    (33, "aliasProblem"),
    (34, "invalidDNSyntax"),
    (36, "aliasDereferencingProblem"),
    (48, "inappropriateAuthentication"),
    (49, "invalidCredentials"),
    (50, "insufficientAccessRights"),
    (51, "busy"),
    (52, "unavailable"),
    (53, "unwillingToPerform"),
    (54, "loopDetect"),
    (64, "namingViolation"),
    (65, "objectClassViolation"),
    (66, "notAllowedOnNonLeaf"),
    (67, "notAllowedOnRDN"),
    (68, "entryAlreadyExists"),
    (69, "objectClassModsProhibited"),
    (71, "affectsMultipleDSAs"),
    (80, "other"),
    // The result codes that follow are those of RFC 3909, RFC 4528 and RFC 4531.
    (118, "canceled"),
    (119, "noSuchOperation"),
    (120, "tooLate"),
    (121, "cannotCancel"),
    (122, "assertionFailed"),
];

/// Returns the name of an LDAP result code, or the number as text if the code has no name.
pub(crate) fn name(code: u32) -> String {
    let found = NAMES.iter().find(|(number, _)| *number == code);
    found.map_or_else(
        || format!("LDAP code {code}"),
        |(_, name)| (*name).to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_names_of_the_standard() {
        assert_eq!(name(49), "invalidCredentials");
        assert_eq!(name(32), "noSuchObject");
        assert_eq!(name(9), "LDAP code 9");
    }

    #[test]
    fn codes_stand_in_their_order() {
        assert!(NAMES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
